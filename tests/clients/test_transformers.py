# SPDX-License-Identifier: Apache-2.0
"""transformers and tokenizers on views/hf, as from_pretrained(DIRECTORY)."""

import json

import pytest
import safetensors
import tokenizers
from transformers import AutoConfig, AutoTokenizer

import truth

TEXTS = ["container", "for the container and a mount", "er or on 123 {}!", ""]


@pytest.fixture(name="sections")
def fixture_sections():
    """The JSON that the container stores, cut out of it by the answer."""
    golden = truth.mcf("hf_sharded")
    answer = json.loads(golden.container.with_suffix(".json").read_text())
    data = golden.container.read_bytes()
    return {
        s["type"]: data[s["offset"] : s["offset"] + s["size"]]
        for s in answer["sections"]
    }


@pytest.fixture(name="hf")
def fixture_hf(mount):
    return mount(truth.mcf("hf_sharded").container) / "views" / "hf"


def test_config(hf, sections):
    config = AutoConfig.from_pretrained(hf)
    stored = json.loads(sections[0x100])
    assert config.model_type == stored["model_type"] == "llama"
    for key in ("hidden_size", "num_hidden_layers", "vocab_size", "head_dim",
                "intermediate_size", "rms_norm_eps", "tie_word_embeddings"):
        assert getattr(config, key) == stored[key], key


def test_tokenizer(hf, sections):
    """As tokenizers has it from the stored text, without a mount."""
    ours = AutoTokenizer.from_pretrained(hf)
    stored = tokenizers.Tokenizer.from_str(sections[0x102].decode())
    assert len(ours) == stored.get_vocab_size()
    for text in TEXTS:
        ids = ours(text, add_special_tokens=False)["input_ids"]
        assert ids == stored.encode(text, add_special_tokens=False).ids
    assert ours.eos_token == json.loads(sections[0x103])["eos_token"]


def test_all_that_belongs_together(hf):
    """One directory: config, tokenizer and weights of the same shapes."""
    config = json.loads((hf / "config.json").read_text())
    with safetensors.safe_open(hf / "model.safetensors", framework="numpy") as model:
        embedding = model.get_slice("model.embed_tokens.weight").get_shape()
    assert embedding == [config["vocab_size"], config["hidden_size"]]
