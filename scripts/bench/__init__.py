# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, a module each, and what they share (lib). scripts/bench.py runs them."""
