"""The command `depute`: the command line of docs/cli.md in this process, and `depute verify --torch`."""

import sys

from ._depute import command_line


def main():
    if sys.argv[1:2] == ["verify"] and "--torch" in sys.argv:
        from ._verify_command import main as verify

        sys.exit(verify(sys.argv[2:]))
    sys.stdout.flush()
    code = command_line(["depute", *sys.argv[1:]])
    sys.exit(code)


if __name__ == "__main__":
    main()
