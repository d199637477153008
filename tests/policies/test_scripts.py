"""Scripts of a stack: fields of a job that a script of Lua writes, and what root does before and after a job."""

from __future__ import annotations

import pytest
from slurm_rules.scripts import lua_faults, shell_faults

WRITES = {
    "by a dot": "job_desc.script = 'x'",
    "by a name in brackets": 'job_desc["work_dir"] = "/tmp"',
    "by a long text": "job_desc[ [[script]] ] = 'x'",
    "by a name that it computes": 'job_desc["scr" .. "ipt"] = "x"',
    "by a table within brackets": "local t = {'script'}\njob_desc[t[1]] = 'x'",
    "by an escape": 'job_desc["scr\\105pt"] = "x"',
    "after a comment": "job_desc --[[ x ]] . --[[ y ]]\n script = 'x'",
    "of two at once": "job_desc.script, job_desc.account = 'x', 'y'",
    "in the environment": "job_desc.environment.LD_PRELOAD = '/tmp/x.so'",
    "in the environment, by a name that may be": "job_desc.environment.name = 'x'",
    "by another name of the job": "local j = job_desc\nj.user_id = 0",
    "by a name that was a table before": "local j = {}\nj = job_desc\nj.user_id = 0",
    "by a parameter that has a table's name": "local j = {}\nlocal function f(j) j.std_out = '/x' end",
    "by a loop": "local j = {}\nfor _, j in pairs({job_desc}) do j.argv = {} end",
    "in a table of its own": "local t = {job = job_desc}\nt.job.script = 'x'",
    "of what a function gives": "f(job_desc).script = 'x'",
    "past its name": "rawset(job_desc, 'script', 'x')",
    "by a table that hands on": "local t = {}\nsetmetatable(t, {__newindex = job_desc})\nt.script = 'x'",
    "by all names": "_G.job.script = 'x'",
    "of a reboot": "job_desc.reboot = 1",
    "of another cluster": "job_desc.clusters = 'other'",
    "of all jobs, a limit that no job asked for": "job_desc.time_limit = 1",
    "of an option": "options['export'] = 'ALL'",
}
READS = {
    "what a job asks for": "job_desc.partition = 'gpu'\nreq.qos='long'",
    "a limit after a question": "if job_desc.time_limit == nil then job_desc.time_limit = 60 end",
    "an option": "options['cpus-per-task'] = '2'",
    "comparisons": "if job_desc.script == nil or job_desc.script ~= x or job_desc.user_id <= 5 then return end",
    "a table of its own": "local seen = {}\nseen[job_desc.user_id] = true\nseen.script = 1",
    "a table with names": "local t = { ['a b'] = 1, [k] = 2, script = 3 }\nM = {}\nfunction M.go() end",
    "a message": "slurm.log_user(\"set job_desc.script = 'x'\")",
    "comments": "--[==[ job_desc.script = 'x'\n]] still ]==]\n-- job_desc.script = 'x'\nreturn slurm.SUCCESS",
    "an argument": "local a, b = job_desc.script, job_desc.name\nlocal n = 1",
    "a number of tests": "return job_desc.script, x\n",
}


@pytest.mark.parametrize("name", WRITES)
def test_a_script_of_lua_writes_no_field_that_is_the_users(name: str) -> None:
    assert list(lua_faults(WRITES[name])) != []


@pytest.mark.parametrize("name", READS)
def test_a_script_of_lua_reads_and_writes_the_rest(name: str) -> None:
    assert list(lua_faults(READS[name])) == []


HARMS = (
    'eval "$SLURM_JOB_COMMENT"',
    'opts=$SLURM_JOB_COMMENT\neval "set -- $opts"',
    'bash -c "mkdir $SLURM_JOB_NAME"',
    'sh -ec "$1"',
    '. "$SLURM_JOB_WORK_DIR/setup.sh"',
    "source $HOME/x",
    "mkdir /local/$SLURM_JOB_NAME",
    "touch ${SLURM_JOB_WORK_DIR}/x",
    "/scratch/site/prolog.sh",
    "[ -x /home/ann/p ] && /home/ann/p",
    '"$SLURM_JOB_WORK_DIR/prolog.sh"',
    "timeout 5 bash /tmp/x",
    'pkill -KILL -u "$SLURM_JOB_UID"',
    "pkill -9 --euid $SLURM_JOB_USER",
    "killall -9 slurmstepd",
    "loginctl terminate-user $SLURM_JOB_USER",
    "kill -9 -1",
    "ipcrm -a",
    "scancel -u $SLURM_JOB_USER",
    "scontrol token username=root lifespan=99999",
    "rm -rf /tmp/* /dev/shm/*",
    'rm -rf "/scratch/$SLURM_JOB_USER"',
    'find /tmp -user "$SLURM_JOB_USER" -delete',
)
SOUND = (
    'dir="/local/jobs/${SLURM_JOB_ID:?}"\nmkdir -m 0700 "$dir" 2>/dev/null || exit 0',
    'rm -rf --one-file-system "/local/jobs/${SLURM_JOB_ID:?}"',
    'rm -rf -- "$dir"',
    'if [ -z "$(squeue -h -u "$SLURM_JOB_USER" -w "$SLURMD_NODENAME")" ]; then pkill -KILL -u "$SLURM_JOB_UID"; fi',
    'logger -t prolog "job $SLURM_JOB_NAME of $SLURM_JOB_USER"',
    "name=$SLURM_JOB_NAME",
    "scancel $SLURM_JOB_ID",
    'su - "$SLURM_JOB_USER" -c "mkdir -p /scratch/x"',
    "timeout 20 bash -c 'nvidia-smi | grep -q A100'",
    ". /etc/slurm/site.conf",
    "dirs=(/tmp /dev/shm)",
    "echo x >& /tmp/log",
    "sed 's|/scratch/|/x/|' /etc/fstab",
    "find /tmp -xdev -mtime +30 -delete",
    "scontrol update nodename=$SLURMD_NODENAME state=drain reason=gpu",
    "# eval no text\nexit 0",
)


@pytest.mark.parametrize("line", HARMS)
def test_root_runs_nothing_of_users_and_ends_no_other_job(line: str) -> None:
    assert list(shell_faults(f"#!/bin/bash\n{line}\n")) != []


@pytest.mark.parametrize("line", SOUND)
def test_what_prologs_and_epilogs_do_passes(line: str) -> None:
    assert list(shell_faults(f"#!/bin/bash\n{line}\n")) == []


def test_another_language_than_a_shell_is_not_judged_and_so_refused() -> None:
    text = "#!/usr/bin/env python3\nimport os\nos.system('mkdir ' + os.environ['SLURM_JOB_ID'])\n"
    assert list(shell_faults(text)) == ["is in a language that isn't judged, and root runs it"]
