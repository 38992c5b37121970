"""D1, the self-contained variant at a quarter of LeNet's width: ten noisy templates, limited memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from pygranso.private.getNvar import getNvarTorch
from pygranso.pygranso import pygranso
from pygranso.pygransoStruct import pygransoStruct

device = torch.device("cpu")
torch.manual_seed(0)
templates = torch.randn(10, 3, 32, 32)
labels = torch.arange(64) % 10
inputs = (templates[labels] + 0.5 * torch.randn(64, 3, 32, 32)).to(device=device, dtype=torch.double)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 2, 5)
        self.conv2 = nn.Conv2d(2, 4, 5)
        self.fc1 = nn.Linear(4 * 5 * 5, 30)
        self.fc2 = nn.Linear(30, 21)
        self.fc3 = nn.Linear(21, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


model = Net().to(device=device, dtype=torch.double)
model.train()


def user_fn(model, inputs, labels):
    outputs = model(inputs)
    return [nn.CrossEntropyLoss()(outputs, labels), None, None]


opts = pygransoStruct()
opts.torch_device = device
nvar = getNvarTorch(model.parameters())
opts.x0 = torch.nn.utils.parameters_to_vector(model.parameters()).detach().reshape(nvar, 1)
opts.opt_tol = 1e-3
opts.limited_mem_size = 100
opts.print_frequency = 10
soln = pygranso(var_spec=model, combined_fn=lambda model: user_fn(model, inputs, labels), user_opts=opts)
torch.nn.utils.vector_to_parameters(soln.final.x, model.parameters())
accuracy = (model(inputs).argmax(1) == labels).double().mean().item()
assert accuracy == 1.0 and soln.final.f <= 1e-3 and soln.termination_code == 0, (accuracy, soln.final.f, soln.termination_code)
assert not hasattr(soln.final, "tv") and soln.H_final["S"].shape[0] == nvar
print("passed")
