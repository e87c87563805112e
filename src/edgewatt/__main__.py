"""`python -m edgewatt`."""

from edgewatt.cli import main

if __name__ == "__main__":
    main()
