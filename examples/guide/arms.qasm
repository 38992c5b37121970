OPENQASM 3.0;
include "stdgates.inc";
input array[float[64], 3] x;
input array[float[64], 6] w;
qubit[3] q;
gate upload(a) r { rz(a) r; ry(a) r; }
for uint layer in [0:1] {
  for uint i in [0:2] { upload(2*x[i]) q[i]; ry(w[3*layer + i]) q[i]; }
  for uint i in [0:2] cx q[i], q[(i + 1) % 3];
}
for uint i in [0:2] upload(x[i]) q[i];
