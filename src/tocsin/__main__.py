"""`python -m tocsin` is the command `tocsin`."""

from tocsin.cli.entry import main

if __name__ == "__main__":
    main()
