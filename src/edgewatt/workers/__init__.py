"""Where tasks run: in this process, in processes beside it, or on a Dask cluster."""
