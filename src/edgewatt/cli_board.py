"""Commands that need a board: its sensors, its idle power, and recordings of networks on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgewatt import cli_isolated
from edgewatt.cli_output import Json, end_batch, refuse_given, show, split
from edgewatt.cli_states import Batches, LatencyMs, Modes, Precisions, batches_of, record_sweep, refuse_latency
from edgewatt.errors import EdgewattError

Root = Annotated[Path, typer.Option(help="Read /sys, /proc and /etc below this folder.")]
Sensor = Annotated[
    str | None, typer.Option(help="RAIL, RAIL+RAIL, a chip or source, simulated or none; by default the board's input.")
]


def idle(
    raw_dir: Annotated[Path, typer.Argument(help="Folder of recordings.")],
    duration: Annotated[float, typer.Option(min=0.0, help="Seconds to measure.")] = 120.0,
    sensor: Sensor = None,
    force: Annotated[
        bool, typer.Option("--force", help="Measure also when the board is visibly busy, which is too high.")
    ] = False,
    root: Root = Path("/"),
    json: Json = False,
) -> None:
    """Measure idle power: the board's mean power with nothing running."""
    from edgewatt.recording.idle import measure_idle
    from edgewatt.reports.progress import seconds_bar
    from edgewatt.reports.recordings import idle_json, idle_lines

    with seconds_bar("Measuring idle power", duration) as progress:
        measured = measure_idle(raw_dir, duration_s=duration, sensor=sensor, force=force, root=root, progress=progress)
    show(json, idle_json(measured), *idle_lines(measured))


#: Parameters of `record` that an isolated recording has no use for, and those that it alone has.
_OF_SEVERAL = ("cool_down", "idle_duration", "force_idle")
_IN_PLACE = ("networks", "cycles", "warmup", "rails", "fast", *_OF_SEVERAL, "batch", "power_mode", "latency_ms")
_ISOLATED = ("rounds", "seconds", "cold", "share")


def record(
    context: typer.Context,
    network: Annotated[
        str | None,
        typer.Argument(help="Architecture, ONNX file or engine, or several by commas; left out with --networks."),
    ] = None,
    raw_dir: Annotated[Path | None, typer.Argument(help="Folder to write the recording to.")] = None,
    networks: Annotated[
        list[str] | None,
        typer.Option(help="Record a list of networks, one after another; those that are there are skipped."),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            help="tensorrt, torch_tensorrt, trtexec, onnxruntime or simulated; by default TensorRT where it "
            "can be used, else ONNX Runtime."
        ),
    ] = None,
    sensor: Sensor = None,
    cycles: Annotated[int, typer.Option(min=1, help="Cycles to record.")] = 30_000,
    warmup: Annotated[int, typer.Option(min=0, help="Cycles before them.")] = 50,
    batch: Batches = None,
    dtype: Precisions = None,
    power_mode: Modes = None,
    latency_ms: LatencyMs = None,
    input_shape: Annotated[str | None, typer.Option(help="Shape of the input: 1,3,224,224.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run; by default the network's.")] = None,
    rails: Annotated[list[str] | None, typer.Option(help="Further rails that get logs of their own.")] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Set the sensor to its fastest meanwhile; needs root and an INA3221.")
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace complete recordings of these names.")] = False,
    cool_down: Annotated[
        float, typer.Option(min=0.0, help="Seconds of pause between networks of a list, and to settle in a state.")
    ] = 60.0,
    idle_duration: Annotated[
        float, typer.Option(min=0.0, help="Seconds of idle power before a list, where none was measured.")
    ] = 120.0,
    force_idle: Annotated[bool, typer.Option("--force-idle", help="Take a busy board for idle.")] = False,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="Measure each layer by itself, in a loop, as NETWORK@isolated.")
    ] = False,
    rounds: Annotated[int, typer.Option(min=1, help="With --isolate: loops of each layer, in random order.")] = 3,
    seconds: Annotated[
        float, typer.Option(min=0.01, max=600, help="With --isolate: settled time of each loop, at least.")
    ] = 1.0,
    cold: Annotated[
        bool,
        typer.Option(
            "--cold/--warm", help="With --isolate: caches as cold as the network leaves them (the default), or warm."
        ),
    ] = True,
    share: Annotated[
        bool,
        typer.Option(
            "--share/--no-share", help="With --isolate: measure layers that are the same once (the default), or each."
        ),
    ] = True,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Draws weights and inputs.")] = 0,
    root: Root = Path("/"),
    json: Json = False,
) -> None:
    """Record a network: the power log, the runtime of each layer, and what a reader needs to trust them."""
    from edgewatt.recording.batch import RecordOptions, record_many
    from edgewatt.recording.record import record as record_network
    from edgewatt.reports.progress import cycles_bar, progress_bar
    from edgewatt.reports.recordings import batch_json, runs_json, runs_table, verdict_lines
    from edgewatt.reports.tables import failure_lines

    listed, precisions = split(networks), split(dtype) or ["float16"]
    several = batch is not None or power_mode is not None or len(precisions) > 1 or len(split([network or ""])) > 1
    if isolate:
        refuse_given(
            context, _IN_PLACE, "not for --isolate", fix="It measures one network in one state: leave them away"
        )
        if several:
            raise EdgewattError("--isolate measures one network in one state", fix="Name one network and one --dtype")
        cli_isolated.isolate(
            network,
            raw_dir,
            backend=backend,
            sensor=sensor,
            rounds=rounds,
            seconds=seconds,
            cold=cold,
            share=share,
            dtype=precisions[0],
            input_shape=_shape(input_shape),
            name=name,
            replace=replace,
            seed=seed,
            root=root,
            json=json,
        )
    refuse_given(context, _ISOLATED, "for layers by themselves", fix="Add --isolate, or leave it away")
    options = RecordOptions(
        warmup=warmup,
        precision=precisions[0],
        input_shape=_shape(input_shape),
        fast=fast,
        further_rails=split(rails),
        seed=seed,
    )
    if name is not None and (several or listed):
        raise EdgewattError("runs of several networks or states name themselves", fix="Leave --name away")
    if several:
        record_sweep(
            listed or split([network or ""]),
            _only_raw_dir(network, raw_dir) if listed else raw_dir,
            batches=batches_of(batch),
            precisions=precisions,
            power_modes=split(power_mode),
            latency_ms=latency_ms,
            json=json,
            backend=backend,
            sensor=sensor,
            cycles=cycles,
            root=root,
            cool_down_s=cool_down,
            idle_s=idle_duration,
            force_idle=force_idle,
            redo=replace,
            options=options,
        )
        return
    refuse_latency(latency_ms)
    if not listed:
        refuse_given(context, _OF_SEVERAL, "for several networks or states", fix="Leave it away, or use --networks")
        if network is None or raw_dir is None:
            raise EdgewattError("NETWORK and RAW_DIR are both needed", fix="edgewatt record resnet18 raw_data")
        with cycles_bar(cycles) as progress:
            run = record_network(
                network,
                raw_dir,
                backend=backend,
                sensor=sensor,
                cycles=cycles,
                root=root,
                name=name,
                replace_existing=replace,
                progress=progress,
                **options,
            )
        show(json, runs_json([run])[0], runs_table([run]), *verdict_lines([run]), f"Recording: {run.folder}")
        raise typer.Exit(1 if run.interrupted else 0)
    folder = _only_raw_dir(network, raw_dir)
    with progress_bar("Recording", len(listed)) as step:
        recorded = record_many(
            listed,
            folder,
            backend=backend,
            sensor=sensor,
            cycles=cycles,
            root=root,
            cool_down_s=cool_down,
            idle_s=idle_duration,
            force_idle=force_idle,
            redo=replace,
            next_network=step,
            **options,
        )
    runs = recorded.recorded.done
    skipped = [f"{name} was recorded already" for name in recorded.skipped]
    table = [runs_table(runs)] if runs else []
    show(json, batch_json(recorded), *table, *verdict_lines(runs), *skipped)
    end_batch(failure_lines(recorded.recorded.failed), recorded.exit_status)


def sensors(
    sensor: Sensor = None,
    duration: Annotated[
        float, typer.Option(min=0.0, help="Seconds to measure how fresh values are; 0 leaves it out.")
    ] = 1.0,
    fast: Annotated[bool, typer.Option("--fast", help="Set the sensor to its fastest; needs root.")] = False,
    restore: Annotated[
        bool,
        typer.Option("--restore", help="Undo --fast, and the power mode that a killed recording left; needs root."),
    ] = False,
    root: Root = Path("/"),
    json: Json = False,
) -> None:
    """Show the sensors and rails found, which are the board's input, and how fresh their values are."""
    from edgewatt.sensors.discovery import discover
    from edgewatt.sensors.fast import make_fast, state_file
    from edgewatt.sensors.fast import restore as restore_settings
    from edgewatt.sensors.report import change_lines, changes_json, sensors_report, sensors_tables

    if fast and restore:
        raise EdgewattError("--fast and --restore undo each other", fix="Name one of them")
    if restore:
        from edgewatt.recording.kept_power_mode import restore_power_mode

        changes, mode = restore_settings(state_file(root)), restore_power_mode(root)
        told = [] if mode is None else [f"Power mode: {mode}, as it was"]
        show(json, {**changes_json(changes), "power_mode": mode}, *change_lines(changes), *told)
    elif fast:
        changes = make_fast(discover(root, sensor), state_file(root))
        show(json, changes_json(changes), *change_lines(changes), "Undo it with: edgewatt sensors --restore")
    else:
        report = sensors_report(discover(root, sensor), duration)
        show(json, report, *sensors_tables(report))


def _shape(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError as error:
        raise EdgewattError(f"{text!r} is not a shape", fix="Give whole numbers: 1,3,224,224") from error


def _only_raw_dir(network: str | None, raw_dir: Path | None) -> Path:
    """With --networks the one argument is the folder."""
    if raw_dir is not None:
        raise EdgewattError("a network is named beside --networks", fix="edgewatt record RAW_DIR --networks A,B")
    if network is None:
        raise EdgewattError("RAW_DIR is needed", fix="edgewatt record RAW_DIR --networks A,B")
    return Path(network)
