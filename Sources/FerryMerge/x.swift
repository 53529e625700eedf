// Placeholder removed when the target gets its first file.
