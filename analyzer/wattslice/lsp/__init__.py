"""The language server: watts where the cursor is, for any editor that speaks the Language Server Protocol.

From an edit to a hint: `frames` and `protocol` take messages from stdin, `documents` keeps the texts,
`scheduling` waits until the typing pauses, `worker` analyses on its one thread, `views` keeps what came out,
`line_map` finds its lines again after further edits, and `hints`, `lenses`, `diagnostics`, `hover` and
`actions` answer from there. `session` holds these together, `server` connects them to the protocol, `stdio`
is the process around it.
"""
