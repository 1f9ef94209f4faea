"""The public functions. The command line only calls these and the renderers.

Files are paths. A folder or an archive (.zip, .tar.gz) means all data files in it, `"sub.zip!/out.json"` is a file in
an archive, `"triage/response=out.json"` specifies the contract of a file, and `"-"` is standard input. Problems in
files are returned; a usage error raises `CallError`.

Several functions share these arguments:

- `contract`: the contract of all files that are not passed as `"CONTRACT=PATH"`
- `parameters`: changed parameters of the protocol, by name: strings or numbers (a float means its shortest decimal)
- `protocol`: a frozen protocol, a file or the result of `freeze_protocol`: its parameters are used, and the score is
  refused if its versions or its truth differ
- `header`: header fields that the files do not contain, by name
- `participant`: whether to return only what participants may see
- `show_values`: whether the result itself may contain values of records, such as the terms of a breakdown
- `plugin_errors`: whether to include messages of exceptions in custom metrics, which may quote a record
- `max_problems`, `max_alike`: how many problems to keep per file, and of each kind; all are counted
- `excerpts`: whether to keep the source lines of problems, for the text format
- `max_record`, `max_unpacked`: the maximum size of a record, and of a decompressed file, in bytes
- `plugins`: modules with custom contracts or metrics, also loaded in worker processes
- `exclude`: glob patterns of files and folders that are skipped when a folder is read; files that are named are read
- `strict`: whether warnings count as failures
- `jobs`: the number of worker processes for large files, submissions and images; by default as many as pay off. The
  result is the same for any number
- `engine`, `scheduler`, `client`: `engine="dask"` reads large files on the Dask cluster of a scheduler, given by its
  address, or on a local one; `client` is a `distributed.Client` of your own. The result is the same. Needs the extra
  `dask`
- `notice`: a function that is called with messages about the call, such as an `exclude` pattern that matches nothing
- `progress`: a function that is called with the current step, the work done, and the total work
"""
# ruff: noqa: F403

from medcontract.api.organizing import *
from medcontract.api.reference import *
from medcontract.api.submissions import *
from medcontract.api.validation import *
