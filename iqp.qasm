OPENQASM 3.0;
include "stdgates.inc";
gate multirz2(t) a0, a1 { cx a0, a1; rz(t) a1; cx a0, a1; }
input array[float[64], 4] x;
qubit[4] q;
h q[0];
h q[1];
h q[2];
h q[3];
rz(x[0]) q[0];
rz(x[1]) q[1];
rz(x[2]) q[2];
rz(x[3]) q[3];
multirz2(x[0]*x[1]) q[0], q[1];
multirz2(x[0]*x[2]) q[0], q[2];
multirz2(x[0]*x[3]) q[0], q[3];
multirz2(x[1]*x[2]) q[1], q[2];
multirz2(x[1]*x[3]) q[1], q[3];
multirz2(x[2]*x[3]) q[2], q[3];
