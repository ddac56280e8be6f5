import sys

from .export import main

if __name__ == "__main__":
    sys.exit(main())
