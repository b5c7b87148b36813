"""How good and how fast is slogan, beside its peers? Each public file with a `main` asks one."""
