"""The command `depute`: the command line of docs/cli.md, in this process."""

import sys

from ._depute import command_line


def main():
    sys.stdout.flush()
    code = command_line(["depute", *sys.argv[1:]])
    sys.exit(code)


if __name__ == "__main__":
    main()
