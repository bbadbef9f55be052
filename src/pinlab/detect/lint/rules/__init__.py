"""The rules: each looks at what the walk noticed and says it, or says nothing."""
