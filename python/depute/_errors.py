"""What the compiler says when it refuses something."""


class Error(RuntimeError):
    """A diagnostic of the compiler: what went wrong, where, and what to do about it.

    `str(error)` is the whole of it, as the command line has it: "[read_pt2] graph.nodes[3]: unknown tensor 'x_2'".
    """

    code: str  # the step that refuses: "read_pt2", "to_backend.backend-failed"
    where: str  # place in the input; may be empty
    message: str  # the cause
    hint: str  # what to do; may be empty
    source: str  # the line of the user's model, "model.py:12"; may be empty
    details: list  # a line for each thing that the message counts

    def __init__(self, code, where="", message="", hint="", source="", details=(), text=""):
        super().__init__(text or f"[{code}] {where}{': ' if where else ''}{message}")
        self.code = code
        self.where = where
        self.message = message
        self.hint = hint
        self.source = source
        self.details = list(details)

    def __str__(self):
        text = super().__str__()
        return f"{text}\n  help: {self.hint}" if self.hint else text

    def __reduce__(self):
        fields = (self.code, self.where, self.message, self.hint, self.source, self.details, self.args[0])
        return (type(self), fields)
