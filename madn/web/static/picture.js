// A picture of the board as a file: SVG as it stands on the page, PNG painted from it.

const PAINTED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-weight", "font-family", "text-anchor", "paint-order", "display"];
const PIXELS = 1200;

// The board with the colours of the style sheet written into it.
function standing(board) {
  const copy = board.cloneNode(true);
  const [real, copied] = [board, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  copied.forEach((element, at) => {
    const style = getComputedStyle(real[at]);
    for (const name of PAINTED) element.setAttribute(name, style.getPropertyValue(name));
    const place = real[at].style.transform;
    if (place) element.setAttribute("transform", place.replaceAll("px", ""));
    for (const name of ["style", "class", "role", "tabindex", "id", "data-label"]) element.removeAttribute(name);
    for (const { name } of [...element.attributes]) if (name.startsWith("aria-")) element.removeAttribute(name);
  });
  const [, , width, height] = board.getAttribute("viewBox").split(" ");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("display", "inline");
  return copy;
}

export const drawn = (board) => new Blob([new XMLSerializer().serializeToString(standing(board))], { type: "image/svg+xml" });

export async function painted(board) {
  const address = URL.createObjectURL(drawn(board));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = PIXELS;
    canvas.height = Math.round((PIXELS * image.height) / image.width);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("canvas"))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

// Let the browser save something under a name.
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
