# SPDX-License-Identifier: Apache-2.0
"""`python -m ctxfs`: works through fleets of containers (docs/fleets.md)."""

import sys

from ctxfs.fleet._cli import main

if __name__ == "__main__":
    sys.exit(main())
