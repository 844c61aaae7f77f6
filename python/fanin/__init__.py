"""Predict, compare and fix incast, the collapse of many-to-one traffic in data centres.

>>> import fanin
>>> s = fanin.Scenario("scenarios/fixed-fragment.toml").schemes("newreno", "dctcp")
>>> c = s.compare(sweep={"fan_in": [8, 32, 128]}, seeds=5)
>>> c.onset("newreno"), c.verdict("newreno"), c.frame()

Runs use all cores, or any `concurrent.futures.Executor`: `compare(executor=client.get_executor())` for Dask.
Results are those of the program `fanin`, byte for byte.
"""

from fanin import sections
from fanin._fanin import Ack, Congestion, Table, Window, __version__, engine
from fanin.comparison import Comparison, Finding, Run
from fanin.diagnosis import Diagnosis, diagnose
from fanin.errors import (
    AskedError,
    CutShortWarning,
    Error,
    ExecutorError,
    FolderError,
    Interrupted,
    LawError,
    ScenarioError,
    SimulatorError,
    StoppedError,
)
from fanin.heat import HeatMap
from fanin.laws import Law, law
from fanin.paper import Reproduced, papers, reproduce
from fanin.placing import plan
from fanin.scenario import Scenario
from fanin.words import explain, listed, schemes

__all__ = [
    "Ack",
    "AskedError",
    "Comparison",
    "Congestion",
    "CutShortWarning",
    "Diagnosis",
    "Error",
    "ExecutorError",
    "Finding",
    "FolderError",
    "HeatMap",
    "Interrupted",
    "Law",
    "LawError",
    "Reproduced",
    "Run",
    "Scenario",
    "ScenarioError",
    "SimulatorError",
    "StoppedError",
    "Table",
    "Window",
    "__version__",
    "diagnose",
    "engine",
    "explain",
    "law",
    "listed",
    "papers",
    "plan",
    "reproduce",
    "schemes",
    "sections",
]
