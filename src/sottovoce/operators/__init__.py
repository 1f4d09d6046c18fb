"""The operator's side of the line: campaigns run from their own machine, over HTTP."""
