"""PyTorch's op database through ONNX: op_database.py's parts. Only `samples` and `exporting` need torch."""
