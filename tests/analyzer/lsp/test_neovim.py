"""A real client, where there is one: Neovim applies a repair, and one undo takes it back."""

import shutil
import subprocess
import sys

import pytest

from .test_repairs import SUMS

VISIT = """
local id = vim.lsp.start_client({ name = 'wattslice', cmd = { [[PYTHON]], '-m', 'wattslice', 'lsp' },
  root_dir = vim.fn.getcwd() })
vim.cmd('edit a.cu')
vim.lsp.buf_attach_client(0, id)
vim.wait(120000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local place = { line = 6, character = 0 }
local asked = { textDocument = vim.lsp.util.make_text_document_params(),
  range = { start = place, ['end'] = place }, context = { diagnostics = {} } }
for _, answer in pairs(vim.lsp.buf_request_sync(0, 'textDocument/codeAction', asked, 120000)) do
  for _, action in ipairs(answer.result) do
    if action.title:match('^Pad') then
      print(action.title)
      vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
    end
  end
end
print(vim.api.nvim_buf_get_lines(0, 1, 2, false)[1])
vim.cmd('silent undo')
print(vim.api.nvim_buf_get_lines(0, 1, 2, false)[1])
vim.cmd('qa!')
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nvim") is None, reason="no Neovim here")
def test_neovim_pads_and_undoes_with_one_key(tmp_path):
    (tmp_path / "a.cu").write_text(SUMS)
    (tmp_path / "wattslice.toml").write_text('gpu = "v100"\n')
    (tmp_path / "visit.lua").write_text(VISIT.replace("PYTHON", sys.executable))
    command = ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", "luafile visit.lua"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=400, check=True)
    told = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    assert told[0].startswith("Pad the rows of 'tile' (predicted: ")
    assert told[1:] == ["__shared__ float tile[32][33];", "__shared__ float tile[32][32];"]
