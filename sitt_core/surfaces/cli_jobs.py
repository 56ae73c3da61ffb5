"""Commands about long work: which jobs there are, and how to stop one."""

from typing import Annotated

import typer

from sitt_core import jobs
from sitt_core.settings import load_settings
from sitt_core.surfaces import status
from sitt_core.surfaces.terminal import JsonOption, answer, named_failures, print_json

COMMANDS = typer.Typer()
_jobs = typer.Typer(help="Builds and updates that run in the background, or ran there.", rich_markup_mode=None)
COMMANDS.add_typer(_jobs, name="jobs")


@_jobs.callback(invoke_without_command=True)
def list_jobs(context: typer.Context, as_json_: JsonOption = False) -> None:
    """Builds and updates that run in the background, or ran there; newest first."""
    if context.invoked_subcommand:
        return
    with named_failures(as_json_):
        described = status.describe_jobs(load_settings().jobs_dir, jobs.KEPT_JOBS)
        if as_json_:
            print_json({"jobs": described})
        else:
            print("\n".join(status.job_line(job) for job in described) or "No job has run here.")


@_jobs.command()
def cancel(job_id: Annotated[str, typer.Argument(metavar="ID", help="Which job.")], as_json_: JsonOption = False) -> None:
    """Ask a running job to stop at its next step; what it has embedded is kept."""
    with named_failures(as_json_):
        jobs_dir = load_settings().jobs_dir
        jobs.cancel(jobs_dir, job_id)
        job = jobs.read(jobs_dir / job_id)
        answer(as_json_, {"id": job.id, "state": job.state}, f"{job.id} is {job.state}; it was asked to stop ({jobs.in_words(job)}).")
