"""The papers' experiments on pairrank: data readers, cells, tables, pictures, claims."""
