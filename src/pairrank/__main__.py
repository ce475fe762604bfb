"""python -m pairrank: the command line."""

from pairrank.cli import main

if __name__ == "__main__":
    main()
