# privacyfunnel for R: what a released table tells of the original one, from it and the published protocol alone.
#
#   source("privacyfunnel.R")
#   protocol <- pf_read("protocol.json")
#   pf_shares("open.csv", protocol, of = "town", rows = "fitted")
#   pf_shares("open.csv", protocol, of = c("sex", "town"), rows = "fitted")   # a table of two columns
#   pf_shares("open.csv", protocol, of = "town", by = "sex", rows = "fitted") # one for each sex
#
# Estimates and standard errors are those of `funnel estimate`, to 1e-8. So are the intervals of rows that are counted
# (rows = "fitted": the table that the protocol was fitted on). Where shares are worked back from how rows were drawn,
# intervals are estimate +- z standard errors, cut to [0, 1]: those of `funnel estimate` hold better with few rows.
# Private fits that list only some combinations are for `funnel estimate`.
# Needs the packages jsonlite and Matrix. Licence: MIT.

PF_UNIT <- 2^32            # probabilities in the file are whole numbers over this
PF_PSEUDO_ROWS <- 4        # rows of the published marginal that are mixed into variances, so that none is 0 by luck
PF_FEWEST_EXPECTED <- 5    # rows below which an expected number may well turn out as none
PF_CAUTION <- 0.25         # rows by which the ends of intervals of counts move outwards
PF_LEAST_SINGULAR <- 1e-5  # directions with smaller singular values are not told by any number of rows
PF_IDENTIFIED <- 1e-7      # how far a question may stick out of what the channel tells
PF_VAGUE <- 0.5            # intervals that are planned to reach further say nothing
PF_SMALLEST_GROUP <- 3     # standard errors by which a group must be above 0
PF_SAME_GROUP <- 0.5       # the least part of a group's size that a quotient may take for it
PF_NOT_SURE <- 1e-6        # stands in for 0 where a group may be empty
PF_ONE_ERROR <- 0.16       # the chance of being off by more than a standard error, to one side
PF_KURTOSIS <- 3           # excess kurtosis of Laplace noise
PF_MOST_DENSE <- 4e6       # outputs times inputs that are decomposed here

# ---- reading ----------------------------------------------------------------------------------------------

pf_read <- function(path) {
  # The protocol in a file. Unlike the Python package it does not check the file's digest.
  file <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  if (!identical(file$schema, "privacyfunnel/1"))
    stop("this is no protocol that this version reads", call. = FALSE)
  step <- file$chain[[1]]
  if (!identical(step$step, "channel"))
    stop("this protocol does not list its channel (", step$step, "); instead of R use: ", .pf_instead(step$step), call. = FALSE)
  block <- .pf_block(step)
  named <- function(parts) if (length(parts)) vapply(parts, `[[`, "", "name") else character(0)
  fill <- if (length(file$chain) > 1) file$chain[[2]]
  filled <- named(fill$filled)
  within <- intersect(named(fill$inside), block$attributes)
  if (length(within))
    stop("this release writes numbers inside the ranges of ", within[1], "; instead of R use: ", .pf_instead(""), call. = FALSE)
  structure(list(objective = file$objective, filled = filled, people = file$people, noise = file$noise, block = block,
                 attributes = block$attributes), class = "pf_protocol")
}

.pf_instead <- function(step) {
  # What tells shares of a release whose channel is recomputed from a model, or depends on what was released before.
  asked <- "funnel estimate table.csv --protocol protocol.json"
  if (identical(step, "by_history")) paste(asked, "--released EARLIER --person COLUMN") else asked
}

print.pf_protocol <- function(x, ...) {
  cat("protocol that releases ", paste(x$attributes, collapse = ", "), " (", x$objective,
      if (!is.null(x$noise)) ", private fit", ")\n", sep = "")
  invisible(x)
}

.pf_block <- function(block) {
  codes <- do.call(rbind, lapply(block$values, function(row) as.numeric(unlist(row))))
  entries <- lapply(block$channel, function(part) as.numeric(unlist(part)))
  lengths <- lengths(entries) / 2
  numbers <- matrix(unlist(entries), nrow = 2)
  Q <- Matrix::sparseMatrix(i = numbers[1, ] + 1, j = rep(seq_along(lengths), lengths), x = numbers[2, ] / PF_UNIT,
                            dims = c(block$outputs, nrow(codes)))
  list(columns = block$columns, attributes = vapply(block$columns, `[[`, "", "name"), codes = codes, Q = Q,
       labels = as.numeric(unlist(block$labels)) + 1,
       marginal = pmax(as.numeric(unlist(block$marginal)) / PF_UNIT, 0.5 / PF_UNIT), nearest = isTRUE(block$nearest))
}

.pf_texts <- function(column) {
  # The labels as released files write them; missing is "".
  vapply(column$labels, function(label) {
    if (is.null(label)) "" else if (is.logical(label)) tolower(as.character(label)) else as.character(label)
  }, "")
}

.pf_codes <- function(column, texts) {
  # The number of the value in each cell, from 0; NA where it is none of the column's.
  # R reads every end of a line within a cell as a newline.
  known <- gsub("\r\n?", "\n", .pf_texts(column))
  texts <- gsub("\r\n?", "\n", texts)
  if (column$kind == "boolean") texts <- tolower(texts)
  as_numbers <- column$kind %in% c("integer", "number") && !isTRUE(column$other)
  found <- if (!as_numbers) match(texts, known) else {
    numbers <- vapply(column$labels, function(label) if (is.null(label)) NA_real_ else as.numeric(label), 0)
    ifelse(texts == "", match("", known), match(suppressWarnings(as.numeric(texts)), numbers, incomparables = NA))
  }
  found - 1
}

.pf_released <- function(released) {
  if (is.data.frame(released)) {
    frame <- lapply(released, function(column) {
      text <- if (is.logical(column)) tolower(as.character(column)) else as.character(column)
      ifelse(is.na(text), "", text)
    })
    return(as.data.frame(frame, check.names = FALSE, stringsAsFactors = FALSE))
  }
  read.csv(released, colClasses = "character", na.strings = character(0), check.names = FALSE, encoding = "UTF-8")
}

.pf_outputs <- function(block, table) {
  # The output that every released row stands for.
  absent <- setdiff(block$attributes, names(table))
  if (length(absent)) stop("the table lacks the column ", absent[1], "; is it the protocol of this table?", call. = FALSE)
  codes <- vapply(seq_along(block$columns), function(j)
    as.numeric(.pf_codes(block$columns[[j]], table[[block$attributes[j]]])), numeric(nrow(table)))
  codes <- matrix(codes, nrow = nrow(table))
  found <- match(.pf_key(codes), .pf_key(block$codes[block$labels, , drop = FALSE]))
  if (anyNA(found))
    stop(sum(is.na(found)), " rows are none that this protocol releases; is it the protocol of this table?", call. = FALSE)
  found
}

.pf_key <- function(codes) do.call(paste, c(as.data.frame(codes), sep = ","))

# ---- questions --------------------------------------------------------------------------------------------

pf_shares <- function(released, protocol, of, by = NULL, rows = NULL, confidence = 0.95) {
  # Shares of the values of `of` (one column, or several for a table of their combinations), for everybody or for every
  # value of `by`: a data frame with the values, share, error, low and high; NA where the released rows do not tell.
  # `rows` says of a faithful protocol whether these are the rows that it was fitted on ("fitted") or others ("other").
  way <- .pf_way(protocol, rows)
  .pf_require(protocol, c(of, by))
  block <- protocol$block
  y <- .pf_outputs(block, .pf_released(released))
  n <- length(y)
  f <- tabulate(y, nrow(block$Q)) / n
  as_others <- !is.null(protocol$noise) && block$nearest
  noisy <- if (way == "corrected" || (way == "channel" && as_others)) .pf_noisy(protocol, block) else NULL
  codes <- if (is.null(noisy)) block$codes else noisy$codes
  places <- match(of, block$attributes)
  groups <- if (is.null(by)) NULL else unique(codes[, match(by, block$attributes), drop = FALSE])
  groups <- if (is.null(by)) list(NULL) else
    split(groups[do.call(order, as.data.frame(groups)), , drop = FALSE], seq_len(nrow(groups)))
  measure <- switch(way, counted = .pf_counted, corrected = .pf_corrected, channel = .pf_channel)
  parts <- lapply(groups, function(values) {
    group <- if (is.null(values)) NULL else
      matrix(as.numeric(colSums(t(codes[, match(by, block$attributes), drop = FALSE]) == values) == length(by)), nrow = 1)
    inside <- if (is.null(group)) rep(TRUE, nrow(codes)) else group[1, ] > 0
    cells <- unique(codes[inside, places, drop = FALSE])
    cells <- cells[do.call(order, as.data.frame(cells)), , drop = FALSE]
    own <- t(outer(.pf_key(codes[, places, drop = FALSE]), .pf_key(cells), `==`) * inside)
    state <- list(block = block, f = f, n = n, people = if (is.null(protocol$people)) n else protocol$people, noisy = noisy)
    found <- if (!is.null(group) && !.pf_group_told(measure, state, group)) NULL else
      measure(state, own, group, (1 - confidence) / 2)
    if (is.null(found)) found <- data.frame(share = NA_real_, error = NA_real_, low = NA_real_, high = NA_real_)[rep(1, nrow(cells)), ]
    cbind(.pf_named(block, by, matrix(rep(as.numeric(values), each = nrow(cells)), nrow = nrow(cells))),
          .pf_named(block, of, cells), found, row.names = NULL)
  })
  structure(do.call(rbind, unname(parts)), way = way, rows = n)
}

.pf_way <- function(protocol, rows) {
  if (!is.null(rows) && !rows %in% c("fitted", "other")) stop("rows is \"fitted\" or \"other\"", call. = FALSE)
  if (protocol$objective != "faithful") {
    if (identical(rows, "fitted")) stop("rows of a protocol that keeps information cannot be counted", call. = FALSE)
    return("channel")
  }
  if (is.null(rows))
    stop("say which rows these are: rows = \"fitted\" (those that the protocol was fitted on) or \"other\"", call. = FALSE)
  if (rows == "other") "channel" else if (is.null(protocol$noise)) "counted" else "corrected"
}

.pf_require <- function(protocol, names) {
  filled <- intersect(names, protocol$filled)
  if (length(filled))
    stop("column ", filled[1], " is filled: its values are drawn from a model, and how far shares of it are off is not ",
         "known; ask about kept columns (", paste(protocol$attributes, collapse = ", "), ")", call. = FALSE)
  unknown <- setdiff(names, protocol$attributes)
  if (length(unknown)) stop("the protocol does not release ", unknown[1], "; its attributes are ",
                            paste(protocol$attributes, collapse = ", "), call. = FALSE)
  if (anyDuplicated(names)) stop("an attribute is named twice", call. = FALSE)
}

.pf_named <- function(block, names, codes) {
  if (is.null(names)) return(data.frame(row.names = seq_len(nrow(codes))))
  values <- lapply(seq_along(names), function(j) {
    text <- .pf_texts(block$columns[[match(names[j], block$attributes)]])[codes[, j] + 1]
    ifelse(text == "", NA, text)
  })
  as.data.frame(setNames(values, names), check.names = FALSE, stringsAsFactors = FALSE)
}

.pf_group_told <- function(measure, state, group) {
  # Whether the rows tell for sure that anybody is in the group.
  found <- measure(state, group, NULL, pnorm(-PF_SMALLEST_GROUP))
  !is.na(found$low) && found$low > 0 && found$share > 0
}

# ---- counted as they stand --------------------------------------------------------------------------------

.pf_counted <- function(state, own, group, tail) {
  block <- state$block
  group <- if (is.null(group)) matrix(1, 1, ncol(own)) else group
  size <- sum(group * state$f)
  if (size == 0) return(NULL)
  values <- as.vector(own %*% state$f) / size
  p <- block$marginal / sum(block$marginal)
  q <- as.vector(block$Q %*% p)
  theta <- as.vector(own %*% q) / sum(group * q)
  mean <- as.matrix(own %*% block$Q) - theta %o% as.vector(group %*% block$Q)
  spread <- .pf_spread(own, group, q, theta)
  certain <- ifelse(spread > 0, as.vector(mean^2 %*% p) / spread, 1)
  drawing <- 1 - pmin(pmax(certain, 0), 1)
  excess <- state$n / min(state$n, state$people) + drawing * state$n / max(state$n, state$people)
  share <- PF_PSEUDO_ROWS / (state$n + PF_PSEUDO_ROWS)
  mixed <- (1 - share) * state$f + share * block$marginal
  error <- sqrt(excess * .pf_spread(own, group, mixed, values) / state$n) / size
  ends <- .pf_share_between(values * size * state$n, size * state$n, excess, tail)
  data.frame(share = values, error = error, low = ends$low, high = ends$high)
}

.pf_spread <- function(a, d, f, theta) {
  # Sum of f (a - theta d)^2.
  aa <- as.vector(a^2 %*% f)
  ad <- as.vector((a * rep(d, each = nrow(a))) %*% f)
  pmax(aa - 2 * theta * ad + theta^2 * sum(d^2 * f), 0)
}

.pf_share_between <- function(counts, whole, excess, tail) {
  inside <- counts / excess + 0.5
  outside <- (whole - counts) / excess + 0.5
  step <- PF_CAUTION / excess
  low <- suppressWarnings(qbeta(tail, inside - step, outside + step))
  high <- suppressWarnings(qbeta(1 - tail, inside + step, outside - step))
  list(low = ifelse(counts < 0.5, 0, low), high = ifelse(counts > whole - 0.5, 1, high))
}

# ---- a private fit: counted, and set right by its noisy counts ---------------------------------------------

.pf_noisy <- function(protocol, block) {
  noise <- protocol$noise
  if (!is.null(noise$combinations)) stop("this private fit lists only some combinations; ask funnel estimate", call. = FALSE)
  sizes <- lapply(block$columns, function(column) length(column$labels))
  counts <- Reduce(`+`, lapply(noise$counts, function(row) as.numeric(unlist(row))))  # in C order
  codes <- as.matrix(rev(expand.grid(rev(lapply(sizes, function(size) seq_len(size) - 1)))))
  dimnames(codes) <- NULL
  cells <- length(noise$counts)
  inputs <- match(.pf_key(block$codes), .pf_key(codes))
  read_as <- rep(NA_real_, nrow(codes))
  read_as[inputs] <- seq_along(inputs)
  other <- which(is.na(read_as))
  if (length(other)) read_as[other] <- .pf_nearest(codes[other, , drop = FALSE], block)
  alpha <- exp(-noise$epsilon / 2)
  found <- list(codes = codes, counts = counts, cells = cells, inputs = inputs, read_as = read_as, people = noise$people,
                variance = 2 * alpha / (1 - alpha)^2)
  found$leaning <- .pf_leaning(found)
  found
}

.pf_nearest <- function(codes, block) {
  # The input as which each combination is read: most columns shared, then nearest in order, then rarest, then first.
  among <- block$codes
  rarity <- pmin(Reduce(`+`, lapply(seq_len(ncol(among)), function(j) tabulate(among[, j] + 1)[among[, j] + 1])), 2^24 - 1)
  close <- 2^14
  scores <- 0
  for (j in seq_len(ncol(among))) {
    same <- outer(codes[, j], among[, j], `==`)
    score <- same * close * (ncol(among) + 1)
    place <- .pf_places(block$columns[[j]])
    if (!is.null(place)) {
      i <- place[codes[, j] + 1]
      k <- place[among[, j] + 1]
      near <- close - floor(close * abs(outer(i, k, `-`)) / max(1, place))
      both <- outer(i >= 0, k >= 0, `&`) & !same
      score[both] <- near[both]
    }
    scores <- scores + score
  }
  max.col(scores * 2^24 - rep(rarity, each = nrow(codes)), ties.method = "first")
}

.pf_places <- function(column) {
  # The place of each label in the order of its column, -1 for missing and other; NULL if it has no order.
  if (!column$kind %in% c("bins", "integer", "number", "year", "month", "day")) return(NULL)
  texts <- .pf_texts(column)
  placed <- texts != "" & !(isTRUE(column$other) & texts == "other")
  value <- if (column$kind == "bins") seq_along(texts) else if (column$kind %in% c("integer", "number"))
    suppressWarnings(as.numeric(texts)) else texts
  place <- rep(-1, length(texts))
  place[placed] <- rank(value[placed], ties.method = "first") - 1
  place
}

.pf_leaning <- function(noisy) {
  rare <- setdiff(seq_along(noisy$counts), noisy$inputs)
  found <- numeric(length(noisy$counts))
  if (!length(rare)) return(found)
  least <- sort(noisy$counts)[length(rare) + 1]
  mean <- mean(noisy$counts[rare])
  deviation <- sqrt(noisy$variance * noisy$cells)
  people <- mean
  for (step in 1:30) {
    a <- (least - people) / deviation
    people <- mean + deviation * exp(-a^2 / 2 - pnorm(a, log.p = TRUE)) / sqrt(2 * pi)
  }
  found[rare] <- mean - people
  found
}

.pf_corrected <- function(state, own, group, tail) {
  noisy <- state$noisy
  whole <- matrix(1, 1, ncol(own))
  found <- .pf_set_right(state, own, if (is.null(group)) whole else group)
  sample <- min(state$n, state$people)
  theta <- pmin(pmax(found$values, 0), 1)
  error <- sqrt(theta * (1 - theta) * found$size / sample + found$deviation^2 + found$lean^2) / found$size
  people <- found$size * sample
  ends <- .pf_share_between(theta * people, people, rep(1, length(theta)), tail)
  sure <- pmax(1 - .pf_reach(found$vague, 0, tail)^2, PF_NOT_SURE)
  off <- .pf_reach(found$deviation, found$kurtosis, tail) / found$size / sure
  open <- found$lean / found$size
  data.frame(share = found$values, error = error,
             low = pmin(pmax(theta - sqrt((theta - ends$low)^2 + off^2) - open, 0), 1),
             high = pmin(pmax(theta + sqrt((ends$high - theta)^2 + off^2) + open, 0), 1))
}

.pf_set_right <- function(state, own, group) {
  # Quotients with the least variance, as in estimates/corrected.py, and what drawing and noise leave open.
  block <- state$block
  noisy <- state$noisy
  n_people <- state$people
  written <- noisy$inputs[block$labels]
  centred <- function(rows) rows - rowMeans(rows)
  sums <- function(rows) as.vector(rows %*% noisy$counts) + rowMeans(rows) * (noisy$people - sum(noisy$counts))
  seen <- list(own[, written, drop = FALSE], group[, written, drop = FALSE])
  kept <- lapply(seen, function(rows) as.matrix(rows %*% block$Q)[, noisy$read_as, drop = FALSE])
  p <- block$marginal / sum(block$marginal)
  scale <- noisy$variance / n_people^2
  drawn <- function(h) {
    mean <- as.matrix(h %*% block$Q)
    pmax(as.vector(h^2 %*% as.vector(block$Q %*% p)) - as.vector(mean^2 %*% p), 0) / max(state$n, n_people)
  }
  quotient <- function(part) {
    each <- function(rows, out, e) part * as.vector(out %*% state$f) + (sums(rows) - part * sums(e)) / n_people
    size <- pmax(each(group, seen[[2]], kept[[2]]), 1 / n_people)
    list(values = each(own, seen[[1]], kept[[1]]) / size, size = size)
  }
  uncertain <- function(part, w, e, drawing) {
    left <- (w - part * e)^2
    variance <- scale * rowSums(left) * noisy$cells + part^2 * drawing
    fourth <- PF_KURTOSIS * scale^2 * rowSums(left^2) * noisy$cells
    list(variance = variance, kurtosis = ifelse(variance > 0, fourth / variance^2, 0))
  }
  theta <- pmin(pmax(quotient(rep(1, nrow(own)))$values, 0), 1)
  w <- centred(own - theta %o% group[1, ])
  e <- centred(kept[[1]] - theta %o% kept[[2]][1, ])
  drawing <- drawn(seen[[1]] - theta %o% seen[[2]][1, ])
  lean <- abs(as.vector((e - w) %*% noisy$leaning)) / n_people
  straight <- scale * rowSums(e * w) * noisy$cells
  all <- scale * rowSums(e * e) * noisy$cells + drawing + lean^2
  part <- pmin(pmax(ifelse(all > 0, straight / all, 0), 0), 1)
  known <- rep(0, nrow(own))
  if (any(group != 1)) {
    alone <- .pf_set_right(state, group, matrix(1, 1, ncol(group)))
    part <- ifelse(quotient(part)$size < PF_SAME_GROUP * alone$values, alone$part, part)
    again <- function(rows) rows[rep(1, length(part)), , drop = FALSE]
    known <- sqrt(uncertain(part, again(centred(group)), again(centred(kept[[2]])), drawn(seen[[2]]))$variance)
  }
  open <- uncertain(part, w, e, drawing)
  found <- quotient(part)
  list(values = found$values, size = found$size, vague = known / found$size, part = part, lean = part * lean,
       deviation = sqrt(open$variance), kurtosis = open$kurtosis)
}

.pf_reach <- function(deviation, kurtosis, tail) {
  z <- -qnorm(tail)
  moved <- z + kurtosis * max(0, z^3 - 3 * z) / 24
  deviation * pmin(moved, max(z, -log(2 * tail) / sqrt(2)))
}

# ---- worked back from how rows were drawn -----------------------------------------------------------------

.pf_channel <- function(state, own, group, tail) {
  # Of rows as the protocol reads them; what people leave open who are read as others is added, as in estimates/as_read.py.
  noisy <- state$noisy
  read <- function(rows) if (is.null(noisy) || is.null(rows)) rows else rows[, noisy$inputs, drop = FALSE]
  found <- .pf_worked_back(state, read(own), read(group), tail)
  down <- up <- beside <- planned <- 0
  if (!is.null(noisy)) {
    size <- if (is.null(group)) NULL else .pf_worked_back(state, read(group), NULL, tail)
    seen <- function(tail) .pf_left_open(noisy, own, group, found$values, size$values, size$error, tail)
    down <- seen(tail)$down
    up <- seen(tail)$up
    beside <- do.call(pmax, seen(PF_ONE_ERROR))
    planned <- do.call(pmax, .pf_left_open(noisy, own, group, found$theta, size$theta, size$planned, tail))
  }
  off <- -qnorm(tail) * found$error
  table <- data.frame(share = found$values, error = sqrt(found$error^2 + beside^2),
                      low = pmin(pmax(found$values - off - down, 0), 1), high = pmin(pmax(found$values + off + up, 0), 1))
  table[!(found$told & found$reach + planned <= PF_VAGUE), ] <- NA
  table
}

.pf_worked_back <- function(state, own, group, tail) {
  block <- state$block
  A <- .pf_scores(block, own)
  D <- if (is.null(group)) list(scores = matrix(1, 1, nrow(block$Q)), told = TRUE) else .pf_scores(block, group)
  q <- block$marginal
  f <- state$f
  size <- sum(D$scores * f)
  values <- as.vector(A$scores %*% f) / size
  share <- PF_PSEUDO_ROWS / (state$n + PF_PSEUDO_ROWS)
  mixed <- (1 - share) * f + share * q
  rare <- state$n * q < PF_FEWEST_EXPECTED
  spread <- function(weights, theta) .pf_spread(A$scores, D$scores, weights, theta)
  total <- spread(ifelse(rare, 0, mixed), values) +
    pmax(spread(ifelse(rare, mixed, 0), values), spread(ifelse(rare, q, 0), values))
  planned_size <- sum(D$scores * q)
  theta <- pmin(pmax(as.vector(A$scores %*% q) / planned_size, 0), 1)
  planned <- sqrt(spread(q, theta) / state$n) / abs(planned_size)
  apart <- A$scores - rep(D$scores, each = nrow(A$scores))
  least <- (1 - theta) * apply(A$scores, 1, min) + theta * apply(apart, 1, min)
  most <- (1 - theta) * apply(A$scores, 1, max) + theta * apply(apart, 1, max)
  hidden <- pmax(-least, most) / (state$n * abs(planned_size))
  list(values = values, error = sqrt(total / state$n) / abs(size), theta = theta, planned = planned,
       told = A$told & D$told, reach = pmax(-qnorm(tail) * planned, -log(tail) * hidden))
}

.pf_left_open <- function(noisy, own, group, values, size, error, tail) {
  # How much further down and up shares may lie, for people who are read as others.
  as_read <- noisy$inputs[noisy$read_as]
  moved <- function(h, side) .pf_most(noisy, pmax(side * (h - h[, as_read, drop = FALSE]), 0), tail) / noisy$people
  within <- if (is.null(group)) rep(1, ncol(own)) else group[1, ]
  h <- own - pmin(pmax(values, 0), 1) %o% within
  least <- if (is.null(group)) 1 else max(size + qnorm(tail) * error - moved(group, -1), PF_NOT_SURE)
  list(down = moved(h, -1) / least, up = moved(h, 1) / least)
}

.pf_most <- function(noisy, weights, tail) {
  # The sum of weights over people is no more, but for the chance `tail` of the noise.
  lost <- noisy$people - sum(noisy$counts)
  people <- pmax(as.vector(weights %*% (noisy$counts - noisy$leaning)) + rowMeans(weights) * lost, 0)
  centred <- weights - rowMeans(weights)
  variance <- noisy$variance * rowSums(centred^2) * noisy$cells + people * apply(weights, 1, max)
  fourth <- PF_KURTOSIS * noisy$variance^2 * rowSums(centred^4) * noisy$cells
  people + .pf_reach(sqrt(variance), ifelse(variance > 0, fourth / variance^2, 0), tail)
}

.pf_scores <- function(block, targets) {
  # Numbers for every output whose mean over released rows is unbiased; and which targets the rows tell at all.
  Q <- block$Q
  if (prod(dim(Q)) > PF_MOST_DENSE) stop("this protocol is too large for R; ask funnel estimate", call. = FALSE)
  weight <- sqrt(block$marginal)
  parts <- svd(as.matrix(Q) / weight)
  keep <- parts$d > PF_LEAST_SINGULAR
  within <- targets %*% parts$v[, keep, drop = FALSE]
  back <- t(parts$u[, keep, drop = FALSE] / weight) / parts$d[keep]
  outside <- targets - within %*% t(parts$v[, keep, drop = FALSE])
  limit <- PF_IDENTIFIED * pmax(apply(abs(targets), 1, max), 1)
  list(scores = within %*% back, told = apply(abs(outside), 1, max) <= limit)
}
