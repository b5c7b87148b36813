"""The command line: one file per verb, with the command and the text it prints."""
