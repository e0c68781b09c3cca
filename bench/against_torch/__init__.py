"""tcc against PyTorch on one GPU, in one process; bench/README.md."""
