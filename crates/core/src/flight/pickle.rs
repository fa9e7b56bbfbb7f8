//! Python's pickle, as data. The opcodes that build plain values are carried out; those that would import or call
//! something leave a value that says nothing. Opcodes: Python's `pickletools`, protocols 0 to 5 as far as PyTorch's own
//! writer and `pickle.dump` of plain values use them.
use super::FlightError;
use super::value::{Arena, Id, Value};

/// Most values of one file.
const MOST_VALUES: usize = 8_000_000;

/// Most values on the stack at once.
const MOST_STACKED: usize = 4_000_000;

/// Reads a pickle: all its values, and the one it is.
pub(super) fn read(bytes: &[u8]) -> Result<(Arena, Id), FlightError> {
    let mut machine = Machine {
        bytes,
        at: 0,
        arena: Arena::default(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
    };
    machine.run()
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    arena: Arena,
    stack: Vec<Id>,
    marks: Vec<usize>,
    /// Values by memo number. Writers number from zero without gaps.
    memo: Vec<Option<Id>>,
}

type Step<T = ()> = Result<T, FlightError>;

impl Machine<'_> {
    fn run(&mut self) -> Step<(Arena, Id)> {
        loop {
            let opcode = self.byte()?;
            if opcode == b'.' {
                let root = self.pop()?;
                return Ok((std::mem::take(&mut self.arena), root));
            }
            self.step(opcode)?;
        }
    }

    fn step(&mut self, opcode: u8) -> Step {
        match opcode {
            // PROTO, FRAME
            0x80 => self.skip(1),
            0x95 => self.skip(8),
            b'(' => self.mark(),
            b'0' => self.pop().map(drop),
            b'1' => self.pop_mark().map(drop),
            b'2' => self.duplicate(),
            b'N' => self.push(Value::Nothing),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'J' | b'K' | b'M' | 0x8a | 0x8b | b'I' | b'L' => self.integer(opcode),
            b'G' => {
                let raw = self.array()?;
                self.push(Value::Float(f64::from_be_bytes(raw)))
            }
            b'X' | 0x8c | 0x8d | b'V' | b'U' | b'T' | b'B' | b'C' | 0x8e | b'S' => self.text(opcode),
            b']' | b')' => self.push(Value::List(Vec::new())),
            b'}' => self.push(Value::Dict(Vec::new())),
            b'l' | b't' => {
                let members = self.pop_mark()?;
                self.push(Value::List(members))
            }
            0x85..=0x87 => self.short_tuple(usize::from(opcode - 0x84)),
            b'a' => self.append(1),
            b'e' => self.appends(),
            b'd' => self.dictionary(),
            b's' => self.set_item(),
            b'u' => self.set_items(),
            b'q' | b'r' | b'p' | 0x94 => self.put(opcode),
            b'h' | b'j' | b'g' => self.get(opcode),
            _ => self.opaque(opcode),
        }
    }

    /// What would be executed by Python: its arguments go, one value that says nothing comes.
    fn opaque(&mut self, opcode: u8) -> Step {
        match opcode {
            // GLOBAL and INST name something in two lines.
            b'c' => {
                self.line()?;
                self.line()?;
            }
            b'i' => {
                self.line()?;
                self.line()?;
                self.pop_mark()?;
            }
            // REDUCE, NEWOBJ, STACK_GLOBAL take two; BUILD takes one and leaves the object.
            b'R' | 0x81 | 0x93 => {
                self.pop()?;
                self.pop()?;
            }
            b'b' => {
                self.pop()?;
                self.pop()?;
            }
            // NEWOBJ_EX
            0x92 => {
                self.pop()?;
                self.pop()?;
                self.pop()?;
            }
            b'o' => drop(self.pop_mark()?),
            // BINPERSID, PERSID
            b'Q' => drop(self.pop()?),
            b'P' => drop(self.line()?),
            // Sets.
            0x8f => {}
            0x90 => return self.pop_mark().map(drop),
            0x91 => drop(self.pop_mark()?),
            _ => return Err(self.wrong("an opcode that no dump holds")),
        }
        self.push(Value::Opaque)
    }

    fn integer(&mut self, opcode: u8) -> Step {
        let value = match opcode {
            b'J' => i64::from(i32::from_le_bytes(self.array()?)),
            b'K' => i64::from(self.byte()?),
            b'M' => i64::from(u16::from_le_bytes(self.array()?)),
            0x8a => {
                let length = usize::from(self.byte()?);
                return self.long(length);
            }
            0x8b => {
                let length = usize::try_from(u32::from_le_bytes(self.array()?)).unwrap_or(usize::MAX);
                return self.long(length);
            }
            _ => {
                let line = self.line()?;
                let text = String::from_utf8_lossy(line);
                match text.trim_end_matches('L') {
                    "00" => return self.push(Value::Bool(false)),
                    "01" => return self.push(Value::Bool(true)),
                    number => number.parse().map_err(|_| self.wrong("a number that is none"))?,
                }
            }
        };
        self.push(Value::Int(value))
    }

    /// Little-endian two's complement; what does not fit into 64 bits is no time and no count.
    fn long(&mut self, length: usize) -> Step {
        let raw = self.take(length)?;
        let value = if raw.len() > 8 {
            Value::Opaque
        } else {
            let fill = if raw.last().is_some_and(|top| top & 0x80 != 0) { 0xff } else { 0 };
            let mut wide = [fill; 8];
            wide[..raw.len()].copy_from_slice(raw);
            Value::Int(i64::from_le_bytes(wide))
        };
        self.push(value)
    }

    fn text(&mut self, opcode: u8) -> Step {
        let length = match opcode {
            b'X' | b'T' | b'B' => usize::try_from(u32::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
            0x8c | b'U' | b'C' => usize::from(self.byte()?),
            0x8d | 0x8e => usize::try_from(u64::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
            _ => {
                let line = self.line()?;
                let text = String::from_utf8_lossy(line).trim_matches(['\'', '"']).to_owned();
                return self.push(Value::Text(text));
            }
        };
        let raw = self.take(length)?;
        let text = String::from_utf8_lossy(raw).into_owned();
        self.push(Value::Text(text))
    }

    fn short_tuple(&mut self, length: usize) -> Step {
        let from = self.stack.len().checked_sub(length).ok_or_else(|| self.wrong("an empty stack"))?;
        let members = self.stack.split_off(from);
        self.push(Value::List(members))
    }

    fn append(&mut self, count: usize) -> Step {
        let from = self.stack.len().checked_sub(count).ok_or_else(|| self.wrong("an empty stack"))?;
        let members = self.stack.split_off(from);
        self.extend_list(members)
    }

    fn appends(&mut self) -> Step {
        let members = self.pop_mark()?;
        self.extend_list(members)
    }

    fn extend_list(&mut self, members: Vec<Id>) -> Step {
        let list = self.top()?;
        if let Some(Value::List(list)) = self.arena.get_mut(list) {
            list.extend(members);
        }
        Ok(())
    }

    fn dictionary(&mut self) -> Step {
        let members = self.pop_mark()?;
        self.push(Value::Dict(pairs(&members)))
    }

    fn set_item(&mut self) -> Step {
        let value = self.pop()?;
        let key = self.pop()?;
        self.extend_dictionary(&[key, value])
    }

    fn set_items(&mut self) -> Step {
        let members = self.pop_mark()?;
        self.extend_dictionary(&members)
    }

    fn extend_dictionary(&mut self, members: &[Id]) -> Step {
        let dictionary = self.top()?;
        if let Some(Value::Dict(all)) = self.arena.get_mut(dictionary) {
            all.extend(pairs(members));
        }
        Ok(())
    }

    fn put(&mut self, opcode: u8) -> Step {
        let number = match opcode {
            b'q' => usize::from(self.byte()?),
            b'r' => usize::try_from(u32::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
            b'p' => self.decimal()?,
            _ => self.memo.len(),
        };
        let top = self.top()?;
        // A gap as large as the file itself is no writer's.
        if number > self.bytes.len() {
            return Err(self.wrong("a memo number larger than the file"));
        }
        if number >= self.memo.len() {
            self.memo.resize(number + 1, None);
        }
        if let Some(slot) = self.memo.get_mut(number) {
            *slot = Some(top);
        }
        Ok(())
    }

    fn get(&mut self, opcode: u8) -> Step {
        let number = match opcode {
            b'h' => usize::from(self.byte()?),
            b'j' => usize::try_from(u32::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
            _ => self.decimal()?,
        };
        let known =
            self.memo.get(number).copied().flatten().ok_or_else(|| self.wrong("an unknown memo number"))?;
        self.push_id(known)
    }

    fn decimal(&mut self) -> Step<usize> {
        let line = self.line()?;
        let number = std::str::from_utf8(line).ok().and_then(|line| line.trim().parse().ok());
        number.ok_or_else(|| self.wrong("a number that is none"))
    }

    fn mark(&mut self) -> Step {
        if self.marks.len() >= MOST_STACKED {
            return Err(self.wrong("too many open brackets"));
        }
        self.marks.push(self.stack.len());
        Ok(())
    }

    fn pop_mark(&mut self) -> Step<Vec<Id>> {
        let mark = self.marks.pop().ok_or_else(|| self.wrong("no open bracket"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn duplicate(&mut self) -> Step {
        let top = self.top()?;
        self.push_id(top)
    }

    fn push(&mut self, value: Value) -> Step {
        if self.arena.len() >= MOST_VALUES {
            return Err(self.wrong("too many values"));
        }
        let id = self.arena.add(value).ok_or_else(|| self.wrong("too many values"))?;
        self.push_id(id)
    }

    fn push_id(&mut self, id: Id) -> Step {
        if self.stack.len() >= MOST_STACKED {
            return Err(self.wrong("too deep a stack"));
        }
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Step<Id> {
        self.stack.pop().ok_or_else(|| self.wrong("an empty stack"))
    }

    fn top(&self) -> Step<Id> {
        self.stack.last().copied().ok_or_else(|| self.wrong("an empty stack"))
    }

    fn byte(&mut self) -> Step<u8> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| FlightError::Pickle { at, problem: "the file ends early" })
    }

    fn skip(&mut self, bytes: usize) -> Step {
        self.take(bytes).map(drop)
    }

    fn take(&mut self, bytes: usize) -> Step<&[u8]> {
        let end = self.at.checked_add(bytes).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(FlightError::Pickle { at: self.at, problem: "the file ends early" })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn line(&mut self) -> Step<&[u8]> {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|b| *b == b'\n');
        let length = length.ok_or(FlightError::Pickle { at: self.at, problem: "the file ends early" })?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    const fn wrong(&self, problem: &'static str) -> FlightError {
        FlightError::Pickle { at: self.at, problem }
    }
}

fn pairs(members: &[Id]) -> Vec<(Id, Id)> {
    members.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}
