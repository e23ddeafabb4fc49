"""What a case says: tables, and whether each target was met."""

import dataclasses
import statistics


@dataclasses.dataclass
class Target:
    """A bound of the issue. The value is the median of the rounds."""
    what: str
    value: float
    bound: float
    unit: str = "×"
    at_least: bool = False

    @property
    def met(self):
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def words(self):
        sign = "≥" if self.at_least else "≤"
        return (f"{self.what}: {show(self.value)} {self.unit} (target {sign} {self.bound:g} "
                f"{self.unit}): {'met' if self.met else '**missed**'}")


@dataclasses.dataclass
class Result:
    """One case."""
    name: str
    title: str
    columns: list
    rows: list  # of texts and numbers
    targets: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    rounds: dict = dataclasses.field(default_factory=dict)  # server -> what each round measured

    def json(self):
        targets = [{**dataclasses.asdict(one), "met": one.met} for one in self.targets]
        return {**dataclasses.asdict(self), "targets": targets}


def show(value):
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}" if value < 0.1 else (
        f"{value:.2f}" if abs(value) < 100 else f"{value:.1f}")


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def cheapest(rounds, names, key="cpu_us"):
    """The floor is the cheaper of the floor servers."""
    return min(names, key=lambda name: median(rounds[name], key))


def ratio(rows, others, key="cpu_us"):
    """The median of the rounds' ratios: both were measured in the same minute."""
    return statistics.median(a[key] / b[key] for a, b in zip(rows, others))


def load_table(rounds, floor):
    """Columns and rows of servers under load, beside the floor."""
    columns = ["server", "CPU µs/request", "× floor", "requests/s", "× floor", "p50 µs", "p99 µs",
               "RSS MiB", "client busy %", "others %"]
    rows = [[name, median(rows, "cpu_us"), ratio(rows, rounds[floor]), median(rows, "rps"),
             ratio(rows, rounds[floor], "rps"), median(rows, "p50_us"), median(rows, "p99_us"),
             median(rows, "rss_bytes") / (1 << 20), 100 * median(rows, "client_share"),
             100 * median(rows, "foreign")]
            for name, rows in rounds.items()]
    return columns, rows
