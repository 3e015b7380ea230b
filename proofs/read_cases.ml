(* Reads cases and says 1 or 0 for each: whether Coq's checker accepts it. Numbers are in binary, words are apart by white
   space: KIND secrets values outputs cells D a b, then counts, cells and rows, value after value. *)
open Checker

let rec positive digits last =
  if last = 0 then XH
  else if digits.[last] = '1' then XI (positive digits (last - 1))
  else XO (positive digits (last - 1))

let number digits = if digits = "0" then N0 else Npos (positive digits (String.length digits - 1))
let rec unary count = if count = 0 then O else S (unary (count - 1))
let word () = Scanf.scanf " %s" (fun text -> text)
let whole () = Scanf.scanf " %d" (fun count -> count)

let rec times count read =
  if count = 0 then []
  else
    let first = read () in
    first :: times (count - 1) read

let rec cases () =
  match word () with
  | "" -> ()
  | kind ->
      let secrets = whole () in
      let values = whole () in
      let outputs = whole () in
      let cells = whole () in
      let one () = number (word ()) in
      let d = one () in
      let a = one () in
      let b = one () in
      let list () = times values one in
      let counts = times secrets list in
      let known = times cells list in
      let rows = times outputs list in
      let accepts =
        match kind with
        | "LIP" -> accepts_LIP
        | "PML" -> accepts_PML
        | "LDP" -> accepts_LDP
        | _ -> failwith kind
      in
      print_endline (if accepts counts rows known (unary values) d a b then "1" else "0");
      cases ()

let () = cases ()
