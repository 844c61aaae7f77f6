"""From `import` to a first figure, with nothing but the package."""

import fanin

scenario = fanin.Scenario(
    text='schemes = ["newreno", "dctcp"]\n[workload]\nfragment = "64 KiB"\nduration = "100 ms"\n[sweep]\nfan_in = [4, 32]\n'
)
comparison = scenario.compare(seeds=1, cache=False, progress=False)
assert len(comparison.frame()) == 4
assert comparison.verdict("dctcp").scheme == "dctcp"
