# SPDX-License-Identifier: Apache-2.0
"""URLs as SOURCEs: what .ctxfs/stats of a mount counts."""

import pytest

from remote import (  # noqa: F401  fixtures
    MIB,
    NEEDS_URLS,
    await_cache,
    counters,
    fixture_faults,
    fixture_mounted,
    longest_request,
    values,
)

pytestmark = NEEDS_URLS


def test_30_7_stats_count_requests_and_how_long_they_took(faults, mounted):
    """The first two answers for an object are 503."""
    root = mounted(faults.url("busy", "m.safetensors"))
    assert (root / "tensors" / "t1").read_bytes() == values(1, MIB)
    after = counters(root)
    assert after["requests_total"] == len(faults.seen) >= 3
    assert after["retries_total"] == 2
    assert MIB < after["received_bytes_total"] < 2 * MIB
    assert after["request_seconds_count"] == after["requests_total"]
    assert after['request_seconds_bucket{le="+Inf"}'] == after["requests_total"]
    buckets = [value for name, value in after.items() if "_bucket{" in name]
    assert buckets == sorted(buckets)
    assert after["request_seconds_sum"] > 0
    assert after["cache_hits_total"] == 0


def test_30_7_stats_count_what_the_cache_had(faults, mounted):
    url = faults.url("plain", "m.safetensors")
    first = mounted(url)
    assert (first / "tensors" / "t1").read_bytes() == values(1, MIB)
    await_cache(first)
    second = mounted(url)
    assert (second / "tensors" / "t1").read_bytes() == values(1, MIB)
    after = counters(second)
    assert after["requests_total"] == 1, "of the granule by which it is opened"
    assert after["cache_hits_total"] > 0
    assert after["cached_bytes_total"] >= MIB
    assert after["retries_total"] == 0


def test_30_6_stats_tell_the_longest_wait(faults, mounted):
    """The server answers once. Failed requests are counted, too."""
    root = mounted(faults.url("stalled", "m.safetensors"), CTXFS_REMOTE_TIMEOUT="1")
    assert longest_request(root) < 0.9
    with pytest.raises(OSError):
        (root / "tensors" / "t1").read_bytes()
    assert 0.9 < longest_request(root) < 2
