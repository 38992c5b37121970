# For tests that run ranks: under() runs a command on N ranks of one MPI with a deadline. Sourced with FLAVOUR set.
# SPDX-License-Identifier: BSD-3-Clause
skip() { echo "skipped: $*"; exit 77; }

case $FLAVOUR in
openmpi) MPIRUN=$(command -v mpirun.openmpi || command -v mpirun || true) ;;
mpich) MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra || true) ;;
*) echo "which MPI is '$FLAVOUR'?"; exit 1 ;;
esac
[ -n "$MPIRUN" ] || skip "no mpirun of $FLAVOUR here (Debian package $([ $FLAVOUR = mpich ] && echo mpich || echo openmpi-bin))"
case $FLAVOUR in openmpi) "$MPIRUN" --version 2>&1 | grep -q -i 'open' || skip "$MPIRUN is not of Open MPI" ;; esac

# Rank programs of tests share two cores, and root may run them.
launcher() {
    if [ "$FLAVOUR" = openmpi ]; then
        set -- --oversubscribe --bind-to none --mca btl_vader_single_copy_mechanism none "$@"
        [ "$(id -u)" -ne 0 ] || set -- --allow-run-as-root "$@"
    fi
    echo "$MPIRUN $*"
}

# under SECONDS N COMMAND...: a run that has not ended by then has failed with 124.
under() {
    seconds=$1 n=$2
    shift 2
    timeout -k 5 "$seconds" $(launcher -n "$n") "$@"
}

# ranks_live COMMAND...: whether a process runs it. (mpirun names it too, but not first; a zombie names nothing.)
ranks_live() {
    for process in /proc/[0-9]*/cmdline; do
        [ "$(tr '\0' ' ' 2>/dev/null < "$process")" != "$* " ] || return 0
    done
    return 1
}

# lives PID: a zombie, whose launcher hangs, has ended.
lives() { [ -n "$(tr -d '\0' 2>/dev/null < "/proc/$1/cmdline")" ]; }

# ranks_ended PID...: all have ended within 20 s; those that have not are killed.
ranks_ended() {
    for p in "$@"; do for _ in $(seq 400); do lives "$p" || break; sleep 0.05; done; done
    outlived=0
    for p in "$@"; do ! lives "$p" || { outlived=1; echo "process $p lives:"; tr '\0' ' ' < "/proc/$p/cmdline"; cat "/proc/$p/wchan" 2>/dev/null; kill -9 "$p"; }; done
    return $outlived
}

# launcher_ended PID: waits for mpirun, which is killed if it goes on for 12 s; its status.
launcher_ended() {
    (sleep 12; kill -9 "$1" 2>/dev/null) & guard=$!
    wait "$1"
    status=$?
    kill $guard 2>/dev/null
    return $status
}

# aborted SECONDS N COMMAND...: under() for a run that ends by MPI_Abort. mpirun of Open MPI 4.1.4 now and then crashes, or waits for
# ever in PMIx_server_finalize, once it has ended every rank. So the ranks are judged: 124 where one outlives the deadline, else 1; a
# launcher without a rank for 10 s, before the first or after the last, is killed.
aborted() {
    deadline=$(($(date +%s) + $1)) idle=0
    under "$@" & launched=$!
    shift 2
    while kill -0 $launched 2>/dev/null && [ "$(date +%s)" -lt "$deadline" ] && [ $idle -lt 20 ]; do
        sleep 0.5
        idle=$((idle + 1))
        ! ranks_live "$@" || idle=0
    done
    status=124
    ranks_live "$@" || status=1
    kill $launched 2>/dev/null # timeout hands it to mpirun, and insists after 5 s
    wait $launched && status=0
    return $status
}
