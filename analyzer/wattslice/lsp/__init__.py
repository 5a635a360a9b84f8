"""The language server: watts where the cursor is, for any editor that speaks the Language Server Protocol.

From an edit to a hint: `protocol` takes messages from stdin, `documents` keeps the texts and finds their
lines again after edits, `worker` waits until the typing pauses and analyses on its one thread, `views` keeps
what came out, for hints and lenses, and `diagnostics`, `hover` and `actions` answer from there.
`settings_files` is what actions write to. `session` holds these together, `server` connects them to the
protocol and is the process.
"""
