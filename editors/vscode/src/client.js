"use strict";
/** The library's client, silent while it starts: then the server's own words say better what is wrong. */

const { CloseAction, ErrorAction, LanguageClient } = require("vscode-languageclient/node");

/** @typedef {import("vscode-languageclient/node").LanguageClientOptions} Options */
/** @typedef {import("vscode-languageclient/node").ServerOptions} ServerOptions */

class Client extends LanguageClient {
  /**
   * @param {ServerOptions} start
   * @param {Options} options
   */
  constructor(start, options) {
    /** @type {import("vscode-languageclient/node").ErrorHandler} */
    const handler = {
      error: (...what) =>
        this.hasStarted ? this.usual.error(...what) : { action: ErrorAction.Shutdown, handled: true },
      closed: () => (this.hasStarted ? this.usual.closed() : { action: CloseAction.DoNotRestart, handled: true }),
    };
    super("wattslice", "wattslice", start, {
      ...options,
      errorHandler: handler,
      initializationFailedHandler: () => false,
    });
    this.usual = this.createDefaultErrorHandler();
    this.hasStarted = false;
  }

  async start() {
    await super.start();
    this.hasStarted = true;
  }

  /**
   * @override
   * @param {string} message
   * @param {any} [data]
   * @param {boolean | "force"} [shown]
   */
  error(message, data, shown = true) {
    super.error(message, data, this.hasStarted ? shown : false);
  }
}

module.exports = { Client };
