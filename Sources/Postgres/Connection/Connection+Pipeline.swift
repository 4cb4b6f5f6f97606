import EventThread
import LibPQ

extension Connection {
    /// Runs many statements in one go, without waiting for each: five times as many a second as one by one.
    ///
    /// Outside a transaction the batch is one of its own: all of it or nothing.
    ///
    /// - Returns: The rows affected by each.
    /// - Throws: ``PostgresError`` for the first statement that fails, naming its place; as any statement does.
    @discardableResult
    package func pipeline(_ statements: [Statement], deadline: Duration? = nil) throws -> [Int] {
        try batch(statements, binaryResult: true, deadline: deadline).map(\.affectedRows)
    }

    /// Runs many queries in one go and gives the rows of each.
    ///
    /// - Throws: As ``pipeline(_:deadline:)`` and ``query(_:as:deadline:)``.
    package func pipeline<each Column: PostgresDecodable>(
        _ statements: [Statement],
        as types: (repeat each Column).Type,
        deadline: Duration? = nil
    ) throws -> [[(repeat each Column)]] {
        guard let first = statements.first else { return [] }
        let binaryResult = RowReader<repeat each Column>(statement: first).readsBinary
        let results = try batch(statements, binaryResult: binaryResult, deadline: deadline)
        var rows: [[(repeat each Column)]] = []
        for (statement, result) in zip(statements, results) {
            let reader = RowReader<repeat each Column>(statement: statement)
            try reader.checkColumns(of: result)
            var found: [(repeat each Column)] = []
            for index in 0..<result.rowCount { found.append(try reader.read(result, at: index)) }
            rows.append(found)
        }
        return rows
    }

    private func batch(_ statements: [Statement], binaryResult: Bool, deadline: Duration?) throws -> [QueryResult] {
        guard let first = statements.first else { return [] }
        for statement in statements { try checkSendable(statement) }
        try raiseServerLimit(for: deadline)
        // The same text with other values, the usual batch, is parsed once: as the unnamed statement, so poolers do not mind.
        let isUniform = statements.allSatisfy { $0.text == first.text && $0.parameters.types == first.parameters.types }
        return try operate(.pipeline, deadline: deadline) { handle in
            guard handle.enterPipeline() else { throw lost(handle) }
            var batch = BatchResults()
            if isUniform {
                guard handle.sendPrepare(name: "", first.text, types: first.parameters.types) else {
                    throw lost(handle)
                }
                batch.sent += 1
            }
            // After a failure the server skips everything up to the batch's end: it need not be sent.
            for statement in statements where batch.failure == nil {
                let isSent =
                    isUniform
                    ? handle.sendPrepared(name: "", statement.parameters, binaryResult: binaryResult)
                    : handle.sendQuery(statement.text, statement.parameters, binaryResult: binaryResult)
                guard isSent else { throw lost(handle) }
                batch.sent += 1
                try pushBatch(handle, &batch)
            }
            guard handle.syncPipeline() else { throw lost(handle) }
            try flush(handle)
            while !batch.isSynced {
                while handle.isBusy {
                    try wait(handle, .read)
                    if !handle.consumeInput() { throw lost(handle) }
                }
                try takeResult(handle, &batch)
            }
            guard handle.exitPipeline() else { throw lost(handle) }
            if let failure = batch.failure {
                let index = min(max(0, failure.index - (isUniform ? 1 : 0)), statements.count - 1)
                throw located(error(failure.result, handle, statement: statements[index].text), index)
            }
            return isUniform ? Array(batch.results.dropFirst()) : batch.results
        }
    }

    /// Sends without blocking, and takes results meanwhile: two sides that both only send would wait for ever.
    private func pushBatch(_ handle: ConnectionHandle, _ batch: inout BatchResults) throws {
        while true {
            switch handle.flush() {
            case true?: return
            case nil: throw lost(handle)
            case false?: break
            }
            try wait(handle, [.read, .write])
            guard handle.consumeInput() else { throw lost(handle) }
            while batch.expectsMore, !handle.isBusy { try takeResult(handle, &batch) }
        }
    }

    /// Takes what has arrived, unless it ends the connection.
    private func takeResult(_ handle: ConnectionHandle, _ batch: inout BatchResults) throws {
        let result = handle.nextResult()
        switch result?.status {
        case .copyIn, .copyOut, .copyBoth:
            // libpq cannot get out of a COPY inside a pipeline: it reports the same COPY for ever.
            lose()
            self.handle = nil
            throw PostgresError(
                .unexpectedResult,
                reason: "a statement of the batch copies: use copyIn or copyOut",
                connectionUsable: false
            )
        default: batch.take(result)
        }
        if handle.isBroken {
            throw batch.failure.map { error($0.result, handle, statement: nil) } ?? lost(handle)
        }
    }

    private func located(_ error: any Error, _ index: Int) -> any Error {
        guard let error = error as? PostgresError else { return error }
        return error.explained("statement \(index + 1) of the batch")
    }
}

/// The results of a batch as they come in: one for each statement, an end mark after each, the batch's end last.
struct BatchResults {
    /// How many statements were sent; libpq answers for no others, also after a failure.
    var sent = 0
    private(set) var results: [QueryResult] = []
    private(set) var failure: (index: Int, result: QueryResult)?
    private(set) var isSynced = false
    private var finished = 0

    /// Whether a statement that was sent has not been answered in full.
    var expectsMore: Bool { finished < sent && !isSynced }

    mutating func take(_ result: QueryResult?) {
        guard let result else {
            finished = results.count
            return
        }
        switch result.status {
        case .pipelineSync: isSynced = true
        case .fatalError:
            failure = failure ?? (results.count, result)
            results.append(result)
        default: results.append(result)
        }
    }
}
