-- What neovim_lsp.py lets a headless Neovim do: open a file as a user's set-up does, read what the server shows,
-- edit, wait for what it shows then. Its task and its result are JSON files, named in the environment.

local task = vim.json.decode(table.concat(vim.fn.readfile(vim.env.WATTSLICE_TASK), '\n'))
local TIMEOUT_MS = 60000

local function now_ms()
  return vim.uv.hrtime() / 1e6
end

local function wait(what, condition)
  if not vim.wait(TIMEOUT_MS, condition, 1) then
    error('nothing within ' .. TIMEOUT_MS / 1000 .. ' s: ' .. what)
  end
end

local function label_text(label)
  if type(label) == 'string' then
    return label
  end
  return table.concat(vim.tbl_map(function(part) return part.value end, label))
end

-- line (from 1) -> text of its hint; read from Neovim's own store, not from the messages
local function hints(buffer)
  local found = {}
  for _, entry in ipairs(vim.lsp.inlay_hint.get({ bufnr = buffer })) do
    found[entry.inlay_hint.position.line + 1] = label_text(entry.inlay_hint.label)
  end
  return found
end

local function as_list(by_line)
  local list = {}
  for line, text in pairs(by_line) do
    list[#list + 1] = { line = line, text = text }
  end
  table.sort(list, function(a, b) return a.line < b.line end)
  return list
end

local function client_of(buffer)
  return vim.lsp.get_clients({ bufnr = buffer, name = 'wattslice' })[1]
end

local function asked(buffer, method, parameters)
  local answer, problem = client_of(buffer):request_sync(method, parameters, TIMEOUT_MS, buffer)
  if not answer or answer.err then
    error(method .. ': ' .. vim.inspect(problem or answer.err))
  end
  return answer.result
end

local function document(buffer)
  return { uri = vim.uri_from_bufnr(buffer) }
end

local function code_lenses(buffer)
  return vim.tbl_map(function(lens)
    return { line = lens.range.start.line + 1, text = lens.command and lens.command.title or '' }
  end, asked(buffer, 'textDocument/codeLens', { textDocument = document(buffer) }) or {})
end

local function diagnostics(buffer)
  return vim.tbl_map(function(entry)
    return {
      line = entry.lnum + 1,
      severity = vim.diagnostic.severity[entry.severity],
      code = entry.code or '',
      text = entry.message,
    }
  end, vim.diagnostic.get(buffer))
end

local function hover(buffer, line, column)
  local answer = asked(buffer, 'textDocument/hover', {
    textDocument = document(buffer),
    position = { line = line - 1, character = column },
  })
  return answer and answer.contents and answer.contents.value or ''
end

-- The first line with a diagnostic for which the server offers an action; its title is returned once applied.
local function first_action(buffer)
  for _, entry in ipairs(vim.diagnostic.get(buffer)) do
    local place = { line = entry.lnum, character = 0 }
    local actions = asked(buffer, 'textDocument/codeAction', {
      textDocument = document(buffer),
      range = { start = place, ['end'] = place },
      context = { diagnostics = { entry.user_data and entry.user_data.lsp }, triggerKind = 1 },
    })
    for _, action in ipairs(actions or {}) do
      if action.edit or action.command then
        return { line = entry.lnum + 1, action = action }
      end
    end
  end
end

-- Applies it as Neovim does, writes what it changed, and says how that looks then.
local function apply(buffer, action)
  local before = hints(buffer)
  if action.edit then
    vim.lsp.util.apply_workspace_edit(action.edit, client_of(buffer).offset_encoding)
  else -- the server sends the edit before it answers
    asked(buffer, 'workspace/executeCommand', {
      command = action.command.command,
      arguments = action.command.arguments,
    })
  end
  local written = {}
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if vim.bo[other].modified and other ~= buffer then
      vim.api.nvim_buf_call(other, function() vim.cmd('silent write') end)
      written[#written + 1] = {
        name = vim.fs.basename(vim.api.nvim_buf_get_name(other)),
        lines = vim.api.nvim_buf_get_lines(other, 0, -1, false),
      }
    end
  end
  -- Neovim does not watch files on Linux unless inotifywait is there: saving the source makes the server look.
  vim.api.nvim_buf_call(buffer, function() vim.cmd('silent write') end)
  return before, written
end

local function insert(buffer, row, column, text)
  vim.api.nvim_buf_set_text(buffer, row, column, row, column, { text })
end

-- Whether the hints become others than these within some seconds.
local function become_others(buffer, before, line)
  return vim.wait(task.patience_ms, function()
    local shown = hints(buffer)
    return shown[line] ~= nil and not vim.deep_equal(shown, before)
  end, 1)
end

-- A statement on a hot line that one more factor makes dearer: row and column before its last semicolon, from 0.
local function place_to_edit(buffer)
  local errors = { severity = vim.diagnostic.severity.ERROR }
  local shown = hints(buffer)
  for _, hint in ipairs(as_list(shown)) do
    local text = vim.api.nvim_buf_get_lines(buffer, hint.line - 1, hint.line, false)[1]
    local column = text:gsub('%s*//.*$', ''):match('();%s*$')
    if column and not text:match('^%s*for%f[%W]') and not text:match('%)%s*;') then
      local trial = ' * 1.9f'
      vim.api.nvim_buf_set_text(buffer, hint.line - 1, column - 1, hint.line - 1, column - 1, { trial })
      local helped = become_others(buffer, shown, hint.line) and #vim.diagnostic.get(buffer, errors) == 0
      vim.api.nvim_buf_set_text(buffer, hint.line - 1, column - 1, hint.line - 1, column - 1 + #trial, { '' })
      wait('the hints from before a trial', function() return vim.deep_equal(hints(buffer), shown) end)
      if helped then
        return hint.line - 1, column - 1
      end
    end
  end
  error('one more factor makes no hot line of ' .. vim.api.nvim_buf_get_name(buffer) .. ' dearer')
end

-- Each edit makes the line dearer by another factor, so that no text is one that was analysed before; it ends
-- when Neovim holds other hints than before.
local function edits(buffer, result)
  local row, column = place_to_edit(buffer)
  result.edited = { line = row + 1, column = column, before = hints(buffer)[row + 1] }
  for number = 1, task.edits do
    vim.wait(task.pause_ms)
    local before = hints(buffer)
    local text = (' * 1.%02df'):format(number)
    local from = now_ms()
    insert(buffer, row, column, text)
    if not become_others(buffer, before, row + 1) then
      error('no other hints after edit ' .. number .. ' of ' .. result.path)
    end
    result.latencies_ms[number] = now_ms() - from
    if number == 1 then
      vim.wait(task.pause_ms)
      result.edited.text, result.edited.after = text, hints(buffer)[row + 1]
    end
  end
end

-- Keys at the pace of a typist; the hints are right when they are what they stay.
local function typing(buffer, result)
  local row, column = result.edited.line - 1, result.edited.column
  local text, analyzed = ' * 2.5f * 3.5f', result.analyzed
  local changes, last = {}, hints(buffer)
  local function note()
    local shown = hints(buffer)
    if not vim.deep_equal(shown, last) then
      changes[#changes + 1], last = now_ms(), shown
    end
  end
  for index = 1, #text do
    insert(buffer, row, column + index - 1, text:sub(index, index))
    vim.wait(index < #text and task.key_ms or 0, function() note() end, 1)
  end
  local from = now_ms()
  vim.wait(3000, function() note() end, 1)
  result.typed = {
    keys = #text,
    after_last_ms = (changes[#changes] or from) - from,
    changes = #changes,
    analyses = result.analyzed - analyzed,
  }
end

local function run_file(path)
  local result = { path = path, latencies_ms = {}, analyzed = 0, analysis_ms = {}, processor_ms = {} }
  vim.lsp.handlers['$/wattslice/analyzed'] = function(_, report)
    result.analyzed = result.analyzed + 1
    result.analysis_ms[result.analyzed] = report.timeMs
    result.processor_ms[result.analyzed] = report.processorMs
    result.gpu = report.gpuName
  end
  local from = now_ms()
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  wait('the server', function() return client_of(buffer) ~= nil end)
  wait('the first hints', function() return next(hints(buffer)) ~= nil end)
  result.opened_ms = now_ms() - from
  result.lines = vim.api.nvim_buf_line_count(buffer)
  vim.wait(500) -- diagnostics come on their own
  result.hints = as_list(hints(buffer))
  result.lenses = code_lenses(buffer)
  result.diagnostics = diagnostics(buffer)
  result.encoding = client_of(buffer).offset_encoding
  result.server = client_of(buffer).server_info
  result.hover_line = hover(buffer, result.hints[#result.hints].line, 1000)
  if result.lenses[1] then
    local row = result.lenses[1].line
    local text = vim.api.nvim_buf_get_lines(buffer, row - 1, row, false)[1]
    local column = text:match('__global__%s+void%s+()') or text:match('()%S')
    result.hover_kernel = hover(buffer, row, (column or 1) - 1)
  end
  local action = first_action(buffer)
  if action then
    local before, written = apply(buffer, action.action)
    wait('hints under the new setting', function()
      return #written == 0 or not vim.deep_equal(hints(buffer), before)
        or not vim.deep_equal(diagnostics(buffer), result.diagnostics)
    end)
    vim.wait(500)
    result.action = {
      line = action.line,
      title = action.action.title,
      written = written,
      diagnostics = diagnostics(buffer),
    }
  end
  edits(buffer, result)
  typing(buffer, result)
  vim.cmd('bwipeout!')
  return result
end

-- Every client on one buffer: what it offers, how many diagnostics and hints come from it.
local function side_by_side(path)
  vim.lsp.config('clangd', { cmd = { task.clangd }, filetypes = { 'cuda' }, root_markers = { '.git' } })
  vim.lsp.enable('clangd')
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  wait('two servers', function() return #vim.lsp.get_clients({ bufnr = buffer }) == 2 end)
  wait('hints beside clangd', function() return next(hints(buffer)) ~= nil end)
  vim.wait(5000) -- clangd parses headers
  local sources = { clangd = 'clang', wattslice = 'wattslice' }
  return vim.tbl_map(function(client)
    local can = client.server_capabilities
    return {
      name = client.name,
      completion = can.completionProvider ~= nil,
      definition = can.definitionProvider ~= nil,
      hover = can.hoverProvider ~= nil and can.hoverProvider ~= false,
      diagnostics = #vim.tbl_filter(function(entry)
        return entry.source == sources[client.name]
      end, vim.diagnostic.get(buffer)),
      hints = #vim.tbl_filter(function(entry)
        return entry.client_id == client.id
      end, vim.lsp.inlay_hint.get({ bufnr = buffer })),
    }
  end, vim.lsp.get_clients({ bufnr = buffer }))
end

local function main()
  vim.cmd.luafile(vim.fn.fnameescape(task.setup))
  local results = {}
  for _, path in ipairs(task.files) do
    results[#results + 1] = run_file(path)
  end
  local beside = type(task.clangd) == 'string' and side_by_side(task.files[1]) or nil
  return { neovim = tostring(vim.version()), results = results, beside = beside }
end

local ok, outcome = xpcall(main, debug.traceback)
vim.fn.writefile({ vim.json.encode(ok and outcome or { error = outcome }) }, vim.env.WATTSLICE_RESULT)
vim.cmd('qall!')
