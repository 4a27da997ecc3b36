# SPDX-License-Identifier: Apache-2.0
"""ctxfs diff of a model of the hub and of what llama.cpp's converter made of it."""

import json

import numpy
import pytest

from conftest import BIN, run
from models import STRING, UINT32, gguf, gguf_split, quantise, safetensors, shards

CTXFS = BIN / "ctxfs"
WIDTH, HEADS, KEY_HEADS, HEAD = 64, 4, 2, 16
# The converter's names of a layer's modules, by those of the hub.
LAYER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm"}
ROWS = {"self_attn.q_proj": HEADS * HEAD, "self_attn.k_proj": KEY_HEADS * HEAD,
        "self_attn.v_proj": KEY_HEADS * HEAD, "self_attn.o_proj": WIDTH, "mlp.gate_proj": 96,
        "mlp.up_proj": 96}
FOUR_NORMS = LAYER | {"post_attention_layernorm": "post_attention_norm",
                      "pre_feedforward_layernorm": "ffn_norm",
                      "post_feedforward_layernorm": "post_ffw_norm"}
HEAD_NORMS = {"self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
PHI = {"self_attn.qkv_proj": "attn_qkv", "self_attn.o_proj": "attn_output",
       "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
       "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
MODULES = {"llama": LAYER, "qwen2": LAYER, "qwen3": LAYER | HEAD_NORMS, "phi3": PHI,
           "gemma": LAYER, "gemma2": FOUR_NORMS, "gemma3": FOUR_NORMS | HEAD_NORMS}


def shape_of(module) -> tuple:
    if module.endswith("norm"):
        return (HEAD if "q_norm" in module or "k_norm" in module else WIDTH,)
    return (ROWS.get(module, WIDTH), 96 if module == "mlp.down_proj" else WIDTH)


def hub_model(architecture, layers=2, prefix="model.", bias=False) -> dict:
    random = numpy.random.default_rng(43)
    arrays = {f"{prefix}embed_tokens.weight": (32, WIDTH), f"{prefix}norm.weight": (WIDTH,),
              f"{prefix.removesuffix('model.')}lm_head.weight": (32, WIDTH)}
    for i in range(layers):
        for module in MODULES[architecture]:
            shape = shape_of(module)
            arrays[f"{prefix}layers.{i}.{module}.weight"] = shape
            if bias and module in ("self_attn.q_proj", "self_attn.k_proj"):
                arrays[f"{prefix}layers.{i}.{module}.bias"] = shape[:1]
    return {name: random.normal(size=shape).astype("f4") for name, shape in arrays.items()}


def permuted(array, heads):
    """As the converter orders the rows of q and k."""
    rows = array.shape[0]
    return (array.reshape(heads, 2, rows // heads // 2, *array.shape[1:])
            .swapaxes(1, 2).reshape(array.shape))


def converted(arrays, architecture, prefix="model.") -> dict:
    """What the converter makes of a model: other names, and other values of some."""
    outside = {f"{prefix}embed_tokens": "token_embd", f"{prefix}norm": "output_norm",
               f"{prefix.removesuffix('model.')}lm_head": "output"}
    made = {}
    for name, array in arrays.items():
        module, kind = name.rsplit(".", 1)
        if architecture == "llama" and module.endswith("q_proj"):
            array = permuted(array, HEADS)
        if architecture == "llama" and module.endswith("k_proj"):
            array = permuted(array, KEY_HEADS)
        if architecture.startswith("gemma") and name.endswith("norm.weight"):
            array = array + numpy.float32(1)
        if module not in outside:
            layer, module = module.removeprefix(f"{prefix}layers.").split(".", 1)
            made[f"blk.{layer}.{MODULES[architecture][module]}.{kind}"] = array
        else:
            made[f"{outside[module]}.{kind}"] = array
    return made


def pairs(architecture, heads=True) -> list:
    found = [("general.architecture", STRING, architecture)]
    if heads:
        found += [(f"{architecture}.attention.head_count", UINT32, HEADS),
                  (f"{architecture}.attention.head_count_kv", UINT32, KEY_HEADS)]
    return found


def diff(*args):
    done = run(CTXFS, "diff", "--json", *args)
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("architecture", sorted(MODULES))
def test_43_3_a_model_is_the_same_as_what_was_made_of_it(tmp_path, architecture):
    arrays = hub_model(architecture, bias=architecture in ("llama", "qwen2"))
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    theirs = gguf(tmp_path / "made.gguf", converted(arrays, architecture), pairs(architecture))
    code, found = diff("--values", ours, theirs)
    assert found["names"] == {"architecture": architecture, "mapped": len(arrays)}
    assert found["totals"]["same"]["entries"] == len(arrays)
    assert [one for one in found["entries"] if "metadata" not in (
        one["first"] or one["second"])["path"]] == []
    # The other way round, too; what is there besides is what the file says of itself.
    back = diff("--values", theirs, ours)[1]
    assert back["names"] == found["names"]
    assert back["totals"]["same"]["entries"] == len(arrays)


def test_43_3_a_change_of_one_layer_is_found_under_the_other_name(tmp_path):
    arrays = hub_model("llama")
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    name = "model.layers.1.self_attn.q_proj.weight"
    tuned = dict(arrays)
    tuned[name] = arrays[name].copy()
    tuned[name][3, 5] += 0.5
    theirs = gguf(tmp_path / "made.gguf", converted(tuned, "llama"), pairs("llama"))
    code, found = diff("--values", ours, theirs)
    assert code == 1
    one, = (one for one in found["entries"] if one["kind"] == "changed")
    assert one["first"]["path"] == f"tensors/{name}"
    assert one["second"]["path"] == "tensors/blk.1.attn_q.weight"
    assert one["values"]["different"] == 1 and one["values"]["max_absolute"] == 0.5
    told = run(CTXFS, "diff", ours, theirs).stdout.decode()
    assert f"names: {len(arrays)} tensors of llama" in told
    assert f"~ tensors/{name}" in told


def test_43_3_without_the_permutation_all_of_q_and_k_would_differ(tmp_path):
    """A file that says it is of another architecture: its rows are as they were stored."""
    arrays = hub_model("llama")
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    theirs = gguf(tmp_path / "made.gguf", converted(arrays, "llama"), pairs("qwen2"))
    found = diff(ours, theirs)[1]
    changed = {one["first"]["path"].rsplit(".", 2)[1] for one in found["entries"]
               if one["kind"] == "changed"}
    assert changed == {"q_proj", "k_proj"}


@pytest.mark.parametrize("stored", ["q8_0", "float16", "bfloat16"])
def test_43_3_values_of_narrower_types_are_compared(tmp_path, stored):
    arrays = hub_model("llama")
    if stored == "bfloat16":  # the hub's type, of which the converter makes float32
        words = {name: (array.view("u4") >> 16).astype("u2") for name, array in arrays.items()}
        ours = safetensors(tmp_path / "hub.safetensors", words)
        values = {name: (array.astype("u4") << 16).view("f4") for name, array in words.items()}
        made = converted(values, "llama")
    else:
        ours = safetensors(tmp_path / "hub.safetensors", arrays)
        made = {name: array if array.ndim == 1 else quantise(array) if stored == "q8_0"
                else array.astype("f2") for name, array in converted(arrays, "llama").items()}
    theirs = gguf(tmp_path / "made.gguf", made, pairs("llama"))
    code, found = diff("--values", ours, theirs)
    tensors = [one for one in found["entries"] if one["kind"] == "changed"]
    assert code == 1 and tensors
    limit = {"q8_0": 0.02, "float16": 1e-3, "bfloat16": 0}[stored]
    assert all(0 <= one["values"]["relative_l2"] <= limit for one in tensors)
    wide = {one["first"]["path"] for one in tensors}
    assert "tensors/model.layers.0.self_attn.k_proj.weight" in wide


@pytest.mark.parametrize("prefix", ["language_model.model.", "model.language_model.", ""])
def test_43_3_language_models_in_others_are_found(tmp_path, prefix):
    arrays = hub_model("gemma3", prefix=prefix)
    head = "language_model.lm_head.weight" if prefix == "language_model.model." else "lm_head.weight"
    made = converted(arrays, "gemma3", prefix=prefix)
    arrays[head] = arrays.pop(f"{prefix.removesuffix('model.')}lm_head.weight")
    arrays["vision_tower.conv.weight"] = numpy.ones((2, 2), "f4")
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    theirs = gguf(tmp_path / "made.gguf", made, pairs("gemma3"))
    code, found = diff(ours, theirs)
    assert found["names"]["mapped"] == len(arrays) - 1
    assert found["totals"]["removed"]["entries"] >= 1  # of the tower
    assert found["totals"]["changed"]["entries"] == 0 or all(
        "metadata" in one["first"]["path"] for one in found["entries"] if one["kind"] == "changed")


def test_43_3_sharded_and_split_models_are_mapped_too(tmp_path):
    arrays = hub_model("llama")
    ours = shards(tmp_path / "hub", arrays, 3)
    theirs = gguf_split(tmp_path / "made", converted(arrays, "llama"), 2, pairs("llama"))
    code, found = diff(ours, theirs)
    assert found["names"]["mapped"] == len(arrays)
    assert found["totals"]["same"]["entries"] == len(arrays)


@pytest.mark.parametrize("said", [pairs("rwkv7"), pairs("llama", heads=False), []])
def test_43_3_models_without_a_table_have_no_names_in_common(tmp_path, said):
    arrays = {name: array for name, array in hub_model("llama").items() if "norm" not in name}
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    theirs = gguf(tmp_path / "made.gguf", {name: array + 1 for name, array in
                                          converted(arrays, "llama").items()}, said)
    done = run(CTXFS, "diff", ours, theirs)
    assert done.returncode == 2
    assert f"no names in common: {len(arrays)} and {len(arrays)} tensors" in done.stderr.decode()


def test_43_3_rows_that_are_no_heads_are_not_called_the_same(tmp_path):
    arrays = hub_model("llama")
    name = "model.layers.0.self_attn.q_proj.weight"
    arrays[name] = arrays[name][:30]  # not a multiple of two rows a head
    made = {key: array for key, array in converted(
        {key: array for key, array in arrays.items() if key != name}, "llama").items()}
    made["blk.0.attn_q.weight"] = arrays[name]
    ours = safetensors(tmp_path / "hub.safetensors", arrays)
    theirs = gguf(tmp_path / "made.gguf", made, pairs("llama"))
    code, found = diff("--values", ours, theirs)
    assert code == 2
    one, = (one for one in found["entries"] if one["kind"] == "failed")
    assert one["first"]["path"] == f"tensors/{name}" and "converter" in one["error"]
