.PHONY: check format golden

check:  ## everything a change must pass
	.ci/check

format:  ## let ruff put the code in order
	ruff check --fix .
	ruff format .

golden:  ## rewrite tests/golden; read the difference before committing it
	python -m pytest --update-golden tests/analyzer
