"""The operator's side: campaigns run from their own machine, over HTTP."""
