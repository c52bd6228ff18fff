"""`python -m austerity` is the command `austerity`."""

import sys

from .cli import main

sys.exit(main())
