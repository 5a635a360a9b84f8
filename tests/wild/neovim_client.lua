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
      if action.edit then
        return { line = entry.lnum + 1, action = action }
      end
    end
  end
end

-- Applies it as Neovim does, writes what it changed, and says how that looks then.
local function apply(buffer, action)
  local before = hints(buffer)
  vim.lsp.util.apply_workspace_edit(action.edit, client_of(buffer).offset_encoding)
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
  return before, written
end

local function insert(buffer, row, column, text)
  vim.api.nvim_buf_set_text(buffer, row, column, row, column, { text })
end

local function remove(buffer, row, column, text)
  vim.api.nvim_buf_set_text(buffer, row, column, row, column + #text, { '' })
end

-- An assignment on a hot line that becomes dearer by one more factor: where to put it, or nil.
local function place_to_edit(buffer, shown)
  for line in pairs(shown) do
    local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1]
    local column = text:match('^[^/]*%f[=]=%f[^=][^/]*();%s*$')
    if column and not text:match('^%s*for') then
      return line - 1, column - 1
    end
  end
end

local FACTOR = ' * 1.7f'

-- Each edit puts the factor in or takes it out again, and waits until Neovim holds the hints of that text.
local function edits(buffer, result)
  local without = hints(buffer)
  local row, column = place_to_edit(buffer, without)
  if not row then
    error('no hot line of this file is a plain assignment')
  end
  result.edited = { line = row + 1, before = without[row + 1], inserted = FACTOR }
  local with
  for number = 1, 2 * task.edits do
    local adds = number % 2 == 1
    vim.wait(task.pause_ms)
    local from = now_ms()
    if adds then
      insert(buffer, row, column, FACTOR)
    else
      remove(buffer, row, column, FACTOR)
    end
    wait('hints of the edited text', function()
      local shown = hints(buffer)
      if adds and not with then
        return next(shown) ~= nil and not vim.deep_equal(shown, without)
      end
      return vim.deep_equal(shown, adds and with or without)
    end)
    result.latencies_ms[#result.latencies_ms + 1] = now_ms() - from
    if not with then
      vim.wait(300) -- whatever else might come for this text
      with = hints(buffer)
      result.edited.after = with[row + 1]
    end
  end
end

-- Keys at the pace of a typist, then how long after the last one the hints are right.
local function typing(buffer, result)
  local row, column = result.edited.line - 1, nil
  local without = hints(buffer)
  row, column = place_to_edit(buffer, without)
  local analyzed_before = result.analyzed
  for index = 1, #FACTOR do
    insert(buffer, row, column + index - 1, FACTOR:sub(index, index))
    if index < #FACTOR then
      vim.wait(task.key_ms)
    end
  end
  local from = now_ms()
  wait('hints after typing', function()
    return hints(buffer)[row + 1] == result.edited.after
  end)
  result.typed = {
    keys = #FACTOR,
    after_last_ms = now_ms() - from,
    analyses = result.analyzed - analyzed_before,
  }
  remove(buffer, row, column, FACTOR)
  wait('hints of the first text', function() return vim.deep_equal(hints(buffer), without) end)
end

local function run_file(path)
  local result = { path = path, latencies_ms = {}, analyzed = 0, analysis_ms = {} }
  vim.lsp.handlers['wattslice/analyzed'] = function(_, report)
    result.analyzed = result.analyzed + 1
    result.analysis_ms[#result.analysis_ms + 1] = report.timeMs
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
  edits(buffer, result)
  typing(buffer, result)
  result.hover_line = hover(buffer, result.edited.line, 1000)
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
      diagnostics_after = #diagnostics(buffer),
    }
  end
  vim.cmd('bwipeout!')
  return result
end

local function main()
  vim.cmd.luafile(vim.fn.fnameescape(task.setup))
  local results = {}
  for _, path in ipairs(task.files) do
    results[#results + 1] = run_file(path)
  end
  return { neovim = tostring(vim.version()), results = results }
end

local ok, outcome = xpcall(main, debug.traceback)
vim.fn.writefile({ vim.json.encode(ok and outcome or { error = outcome }) }, vim.env.WATTSLICE_RESULT)
vim.cmd('qall!')
