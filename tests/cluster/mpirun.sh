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
