#!/usr/bin/env python3
"""Writes the Parquet files of this folder: the rows of log.csv as pyarrow, Polars, DuckDB and fastparquet write them.

They are committed, so that tests need none of these:
pip install pyarrow polars duckdb fastparquet pandas && python3 make.py
"""

import csv
import pathlib

import duckdb
import fastparquet
import pandas
import polars
import pyarrow
import pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent


def rows():
    with open(HERE / "log.csv", newline="") as file:
        return list(csv.DictReader(file))


def with_pyarrow(columns):
    query, key = columns["query"], columns["key"]
    times, sizes = columns["time"], columns["size"]

    def table(time, query, key, size, **others):
        return pyarrow.table({"time": time, "query": query, "key": key, "size": size, **others})

    def stamps(unit, ticks):
        return pyarrow.array([round(time * ticks) for time in times], pyarrow.timestamp(unit))

    write, text = pyarrow.parquet.write_table, pyarrow.array
    write(table(times, query, key, sizes), HERE / "pyarrow.parquet", row_group_size=7)
    categories = table(text(times, pyarrow.float32()), text(query).dictionary_encode(), text(key).dictionary_encode(),
                       text(sizes, pyarrow.int16()), tags=[["a", "b"]] * len(times))
    write(categories, HERE / "pyarrow-categories-v2-gzip.parquet", data_page_version="2.0", compression="gzip")
    large = table(stamps("ms", 1_000), text(query, pyarrow.large_string()), text(key, pyarrow.large_string()),
                  text(sizes, pyarrow.uint32()))
    write(large, HERE / "pyarrow-large-lz4.parquet", compression="lz4", use_dictionary=False, write_page_checksum=True)
    numbers = table(stamps("us", 1_000_000), [int(name[1:]) for name in query], text(key, pyarrow.binary()),
                    text(sizes, pyarrow.uint64()))
    write(numbers, HERE / "pyarrow-numbers-zstd.parquet", compression="zstd", version="1.0")
    required = pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name, kind in [
        ("time", pyarrow.float64()), ("query", pyarrow.string()), ("key", pyarrow.string()), ("size", pyarrow.int64())]])
    required = table(times, query, key, sizes).cast(required)
    write(required, HERE / "pyarrow-required-none.parquet", compression="none")
    whole = [int(time) for time in times]
    write(table(whole, query, key, sizes), HERE / "pyarrow-seconds-brotli.parquet", compression="brotli")


def with_polars(columns):
    frame = polars.DataFrame(columns)
    frame.write_parquet(HERE / "polars.parquet")
    stamped = frame.with_columns(
        (polars.col("time") * 1_000).round().cast(polars.Datetime("ms")).dt.cast_time_unit("ns"),
        polars.col("key", "query").cast(polars.Categorical), polars.col("size").cast(polars.UInt16))
    stamped.write_parquet(HERE / "polars-stamps-lz4.parquet", compression="lz4", row_group_size=9, data_page_size=64)


def with_duckdb():
    read = f"SELECT * FROM read_csv('{HERE / 'log.csv'}')"
    duckdb.sql(f"COPY ({read}) TO '{HERE / 'duckdb.parquet'}' (FORMAT parquet)")
    stamped = f"SELECT make_timestamp(CAST(time * 1e6 AS BIGINT)) AS time, query, key, size::USMALLINT AS size FROM ({read})"
    duckdb.sql(f"COPY ({stamped}) TO '{HERE / 'duckdb-stamps-v2-zstd.parquet'}' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)")


def with_fastparquet(columns):
    frame = pandas.DataFrame(columns)
    fastparquet.write(str(HERE / "fastparquet.parquet"), frame)
    stamped = frame.assign(time=pandas.to_datetime((frame["time"] * 1_000).round().astype("int64"), unit="ms"),
                           key=frame["key"].astype("category"), size=frame["size"].astype("int32"))
    fastparquet.write(str(HERE / "fastparquet-stamps-gzip.parquet"), stamped, compression="GZIP", row_group_offsets=11)
    # It takes these for nanoseconds whatever they are.
    nanos = stamped.assign(time=stamped["time"].astype("datetime64[ns]"))
    fastparquet.write(str(HERE / "fastparquet-int96.parquet"), nanos, times="int96")


def main():
    kinds = {"time": float, "query": str, "key": str, "size": int}
    columns = {name: [kind(row[name]) for row in rows()] for name, kind in kinds.items()}
    with_pyarrow(columns)
    with_polars(columns)
    with_duckdb()
    with_fastparquet(columns)


if __name__ == "__main__":
    main()
