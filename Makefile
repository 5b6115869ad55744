# Every command installs what it needs and is missing (Debian packages, and Python packages into .venv),
# then works in build/.

FUZZ_SECONDS ?= 60
MUTATE ?= src/lower src/regions src/partition src/plan
PYTHON_TESTS = .venv/bin/python -m pytest -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder tests/python
# A name in scripts/releases.txt, and its environment.
RELEASE ?= previous
FROM ?= previous
TO ?= current
VENV = $(shell awk '$$1 == "$(RELEASE)" { print $$4 }' scripts/releases.txt)

help:  ## this list
	@echo "make COMMAND, where COMMAND is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' Makefile

build:  ## the compiler, as build/release/depute
	@scripts/install_system.sh build
	@scripts/build.sh release depute

PREFIX ?= /usr/local
install: build  ## the program, the library and its headers, below PREFIX
	@scripts/build.sh release depute_installed
	cmake --install build/release --prefix $(PREFIX)

wheel:  ## the Python package, as build/wheels/depute-*.whl
	@scripts/install_system.sh wheel
	@scripts/install_python.sh wheel
	@scripts/build_wheel.sh

runtime:  ## depute run: build/release/depute-run, on the runtime of the executorch wheel
	@scripts/install_system.sh build
	@scripts/install_python.sh runtime
	@runtime/build.sh

openvino:  ## the compiler with the openvino backend, as build/release/depute-backend-openvino
	@scripts/install_system.sh build
	@scripts/install_python.sh openvino
	@backends/openvino/build.sh

arm:  ## MobileNetV2 as floats and as integers by TOSA and VGF, in the stock runtime on an emulated GPU, with comments
	@scripts/install_system.sh build
	@scripts/install_system.sh arm
	@RELEASE=previous scripts/install_python.sh demo
	@RELEASE=previous scripts/install_python.sh arm
	@scripts/build.sh release depute
	@scripts/arm.sh

demo:  ## lower and run a small trained model and MobileNetV2, with comments
	@scripts/install_system.sh build
	@scripts/install_python.sh demo
	@scripts/build.sh release depute
	@scripts/demo.sh

test:  ## all tests: unit and text tests, real models in the stock runtime
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release all
	@runtime/build.sh
	@scripts/build_wheel.sh --install
	ctest --preset release
	.venv/bin/python tests/models/export_models.py
	.venv/bin/python tests/models/architectures.py
	$(PYTHON_TESTS)

test-release:  ## what depends on torch and ExecuTorch, with other releases (RELEASE=previous|newest|crossed, scripts/releases.txt)
	@scripts/install_system.sh test
	@RELEASE=current scripts/install_python.sh wheel
	@RELEASE=current scripts/install_python.sh runtime
	@RELEASE=$(RELEASE) scripts/install_python.sh test
	@scripts/build.sh release all
	@runtime/build.sh
	@scripts/build_wheel.sh --install $(VENV)
	$(VENV)/bin/python tests/models/export_models.py
	$(VENV)/bin/python tests/models/architectures.py
	cd tests/python && $(CURDIR)/$(VENV)/bin/python -m pytest -n auto --maxprocesses 8 --dist loadfile models ops package upstream

test-previous:  ## test-release, with the ExecuTorch before this one
	@$(MAKE) test-release RELEASE=previous

test-matrix:  ## test-release with all pairs of releases: 11 GB of packages
	@for release in previous newest crossed; do $(MAKE) test-release RELEASE=$$release || exit 1; done

release-changes:  ## what differs between two pairs of releases that Depute depends on (FROM=previous TO=current)
	@for release in $(FROM) $(TO); do RELEASE=$$release scripts/install_python.sh test; done
	.venv/bin/python tests/releases/changes.py $(FROM) $(TO)

test-ops:  ## every operator sample of PyTorch and 2,000 random models, lowered and run in the stock runtime
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/opinfo/opinfo.py --known tests/opinfo/known.txt
	.venv/bin/python tests/opinfo/opinfo.py --complex
	.venv/bin/python tests/random_programs/random_programs.py --count 1000
	.venv/bin/python tests/random_programs/random_programs.py --count 1000 --backend xnnpack

test-one-op:  ## 200,000 programs of one operator each, by the op table's schemas, lowered and run in the stock runtime (half an hour)
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute depute_text
	@scripts/build_wheel.sh --install
	.venv/bin/python tests/one_op/one_op.py

test-sizes:  ## 5,000 random programs with arithmetic on open sizes, lowered and run in the stock runtime at five sizes each
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/random_programs/random_sizes.py --count 5000

test-payloads:  ## 10,000 random programs of what delegates take, lowered for XNNPACK and run in the stock runtime
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/random_programs/random_programs.py --count 5000 --backend xnnpack --delegated
	.venv/bin/python tests/random_programs/random_programs.py --count 5000 --backend xnnpack --delegated --quantized

test-quantized:  ## every architecture of the tests in six quantizations, with and without xnnpack, in the stock runtime (hours)
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/quantized_models/quantized_models.py

test-unseen:  ## 200 models of transformers and timm that no test has, chosen by a seed (UNSEEN="--seed 7 --count 200")
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/models/unseen_models.py $(UNSEEN)

test-table:  ## every combination of types, ranks and arguments that the table of the XNNPACK backend accepts, against eager PyTorch
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/support_table/support_table.py

test-upstream:  ## ExecuTorch's own tests of its XNNPACK backend and of operators, with Depute in the place of what lowers
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	@scripts/build_wheel.sh --install
	UPSTREAM=all .venv/bin/python -m pytest -n auto tests/python/upstream/test_upstream_xnnpack.py tests/python/ops/test_operator_suite.py tests/python/package/test_package_recipes.py

test-openvino: openvino  ## models lowered by the openvino backend, in the stock runtime
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	.venv/bin/python tests/models/export_models.py
	.venv/bin/python -m pytest -q tests/python/models/test_openvino.py

test-arm:  ## what the TOSA and vgf backends write, in Arm's reference model and in the stock runtime on an emulated GPU
	@scripts/install_system.sh test
	@scripts/install_system.sh arm
	@scripts/install_python.sh test
	@RELEASE=previous scripts/install_python.sh test
	@RELEASE=previous scripts/install_python.sh arm
	@scripts/build.sh release depute
	@scripts/build_wheel.sh --install
	@scripts/build_wheel.sh --install .venv-previous
	.venv/bin/python tests/models/export_models.py
	.venv/bin/python tests/models/architectures.py
	.venv/bin/python -m pytest -q tests/arm
	.venv/bin/python tests/opinfo/opinfo.py --backend tosa --dtypes f32,f16,i32,bool
	.venv/bin/python tests/random_programs/random_programs.py --backend tosa --delegated --count 150
	.venv/bin/python tests/random_programs/random_programs.py --backend tosa --count 150

test-wheels:  ## pip install of a clone, and wheels for several versions of Python
	@scripts/install_system.sh wheel
	@scripts/install_python.sh test
	@scripts/build_wheel.sh --install
	WHEELS=all .venv/bin/python -m pytest -q tests/python/package/test_wheels.py

test-cluster:  ## lowerings on clusters of Ray and Dask with two nodes, of which workers and nodes are killed
	@scripts/install_system.sh wheel
	@scripts/install_python.sh wheel
	@scripts/install_python.sh cluster
	@scripts/build_wheel.sh --install build/cluster
	build/cluster/bin/python -m pytest -q tests/cluster

fuzz:  ## every fuzz target for FUZZ_SECONDS, with libFuzzer
	@scripts/install_system.sh test
	scripts/fuzz.sh $(FUZZ_SECONDS)

test-asan:  ## unit and text tests, inputs of fuzz targets, samples and damaged files under the address and undefined behavior sanitizers
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh asan all
	ctest --preset asan
	DEPUTE_BIN=build/asan/depute $(PYTHON_TESTS)/models/test_samples.py tests/python/attacks/test_readers.py tests/python/ops/test_one_op.py

test-python-asan:  ## the Python package's tests under the address and undefined behavior sanitizers
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	scripts/python_asan.sh

test-attacks:  ## hostile archives, options, workers, names, bounds and system faults, all of them (a part of each is in make test)
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release all
	.venv/bin/python tests/models/export_models.py
	ATTACKS=all $(PYTHON_TESTS)/attacks tests/python/house/test_hardening.py

test-platforms:  ## Linux on Arm, one file for every Linux, Windows and macOS: built, and tested by qemu and wine (PLATFORMS=NAME to choose)
	@scripts/install_system.sh platforms
	@scripts/install_python.sh wheel
	@scripts/build.sh release depute
	@scripts/build_wheel.sh
	@scripts/platforms/test.sh $(PLATFORMS)

test-compilers:  ## other compilers: g++ 13 and 14, clang 16 to 19 (COMPILERS=NAME to choose)
	@scripts/install_system.sh platforms
	@scripts/platforms/compilers.sh $(COMPILERS)

dist:  ## an archive of the program for each platform, with checksums and SBOM, in build/dist
	@scripts/install_system.sh build
	@scripts/build.sh release depute
	@scripts/platforms/dist.sh $(PLATFORMS)

sbom:  ## what the program contains of others, as build/depute.cdx.json (CycloneDX)
	@scripts/install_system.sh build
	@scripts/build.sh release depute
	@scripts/sbom.py

test-tsan:  ## unit and text tests under the thread sanitizer
	@scripts/install_system.sh test
	@scripts/build.sh tsan all
	setarch -R ctest --preset tsan

mutate:  ## the share of small changes to the code that tests notice (MUTATE="src/lower --count 50" to choose)
	@scripts/install_system.sh build
	@scripts/install_python.sh test
	.venv/bin/python -m pip --disable-pip-version-check -qq install universalmutator
	.venv/bin/python scripts/mutation.py $(MUTATE)

bench:  ## micro-benchmarks, growth with the graph, and ExecuTorch's own flow beside ours (BENCH="--models lstm" to choose)
	@scripts/install_system.sh bench
	@scripts/install_python.sh test
	@scripts/build.sh bench all
	for program in build/bench/bench/*_bench; do $$program --benchmark_min_time=0.1 || exit 1; done
	build/bench/bench/long_running
	.venv/bin/python tests/models/export_models.py
	.venv/bin/python bench/partition_scaling.py --depute build/bench/depute
	.venv/bin/python bench/compare_executorch.py --depute build/bench/depute $(BENCH)

screenshots:  ## the HTML report in a browser, as pictures: README's in docs/images, others in build/screenshots
	@scripts/install_system.sh test
	@scripts/install_python.sh test
	@scripts/build.sh release depute
	.venv/bin/python tests/models/export_models.py
	.venv/bin/python tests/python/cli/report_pages.py

format:  ## clang-format over all C++ files
	@scripts/install_system.sh format
	git ls-files '*.cpp' '*.h' | xargs clang-format-19 -i

tidy:  ## clang-tidy over all C++ files
	@scripts/install_system.sh test
	@scripts/install_system.sh format
	@scripts/build.sh dev depute
	run-clang-tidy-19 -quiet -extra-arg=-Wno-unknown-warning-option -p build/dev '$(CURDIR)/(src|tools|driver|backends|cli)/'

clean:  ## remove build/ (.venv stays)
	rm -rf build

.PHONY: help build install wheel runtime openvino arm fuzz test-sizes demo test test-release test-previous test-matrix release-changes test-ops test-one-op test-payloads test-quantized test-unseen test-table test-upstream test-openvino test-arm test-wheels test-cluster test-asan test-python-asan test-attacks test-platforms test-compilers dist sbom test-tsan mutate bench screenshots format tidy clean
